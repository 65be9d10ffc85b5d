"""A program that ends as it is told to: where, when, and in which way. Argument: a file with the plan, as JSON.

What it does up to there is the same in every run. After each round it notes the time in a log of its own.
"""

# mypy: ignore-errors
import ctypes
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import torch

plan = json.loads(Path(sys.argv[1]).read_text())
log = os.open(plan["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def memory():
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    hoard = []
    while True:
        hoard.append(bytearray(plan.get("piece", 4096)))


def fork():
    if os.fork() == 0:
        (w * 2).sum().backward()
        print("the child")
        time.sleep(plan.get("child", 5))
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


WAYS = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(3),
    "segfault": lambda: ctypes.string_at(0),
    "memory": memory,
    "fork": fork,
}


def at(place):
    if place == plan["place"] and k == plan["round"]:
        os.write(log, f"{time.monotonic()} end\n".encode())
        WAYS[plan["way"]]()


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        at("forward")
        return x * 2

    @staticmethod
    def backward(ctx, g):
        at("backward")
        return g * 2


k = 0
w = torch.ones(3, requires_grad=True)
w.register_hook(lambda g: at("hook"))
for k in range(plan["rounds"]):
    at("start")
    loss = Twice.apply(w * k).sum()
    at("between")
    print("round", k)
    loss.backward()
    os.write(log, f"{time.monotonic()} {k}\n".encode())
    time.sleep(plan["pause"])
