"""What a step means: whole sentences, rules, the ledger of a gradient, errors and "why". Knows nothing of torch or Qt."""

from gradviz.explain.words import LANGUAGES, Words

__all__ = ["LANGUAGES", "Words"]
