"""What a step means: whole sentences, rules, the ledger of a gradient, errors and "why". No torch, no Qt."""

from gradviz.explain.accounts import LedgerRow, ledger
from gradviz.explain.answers import QUESTIONS, Answer, why
from gradviz.explain.faults import FaultCard, Fix, fault_card
from gradviz.explain.labels import node_label, step_label, tensor_label, value_text
from gradviz.explain.narration import Narration, narrate
from gradviz.explain.rules import RuleView, numbers, rule
from gradviz.explain.words import LANGUAGES, Words

__all__ = [
    "LANGUAGES",
    "QUESTIONS",
    "Answer",
    "FaultCard",
    "Fix",
    "LedgerRow",
    "Narration",
    "RuleView",
    "Words",
    "fault_card",
    "ledger",
    "narrate",
    "node_label",
    "numbers",
    "rule",
    "step_label",
    "tensor_label",
    "value_text",
    "why",
]
