"""`python -m gradviz.recorder [options] PROG.py [ARGS…]`: see `gradviz.recorder.process`."""

from gradviz.recorder.process import main

if __name__ == "__main__":
    main()
