"""The card that answers why: the answer, the steps that prove it, and what else can be asked of the same thing."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from gradviz.app.palette import Overlay
from gradviz.app.panel import clear
from gradviz.explain import Words, why
from gradviz.explain.offers import Offer, offers, step_says
from gradviz.player.subject import asked_at
from gradviz.session import Session

WIDTH, MOST_STEPS = 640, 6
COLUMNS = 2


class WhyCard(Overlay):
    """`went` names a step to go to. The question chosen is kept while the card is open."""

    went = Signal(int)

    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__(window)
        self.session = session
        self.title, self.body, self.more = QLabel(), QLabel(), QLabel()
        self.title.setObjectName("title")
        self.more.setObjectName("dim")
        for label in (self.title, self.body):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
        self._steps, self._others = QGridLayout(), QGridLayout()
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 14, 18, 14)
        column.addWidget(self.title)
        column.addWidget(self.body)
        column.addLayout(self._steps)
        column.addWidget(self.more)
        column.addLayout(self._others)
        column.addStretch(1)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.destroyed.connect(session.listen(lambda old, new: self._heard(old.revision != new.revision)))

    def _heard(self, other: bool) -> None:
        if other:
            self.dismiss()

    def ask(self, target: str = "", question: str | None = None, *, beyond_card: bool = False) -> None:
        """Answer a question about a target, else the likeliest one about what is selected or what the step is about.
        `beyond_card`: the card of the error is in view, and what it says is not said again."""
        view, trace = self.session.view, self.session.trace
        subject = target or view.selection or asked_at(trace, view.step)
        if not question and subject.startswith("pass:"):
            subject = asked_at(trace, view.step)
        self._offers = offers(trace, view.step, subject, view.language)
        self._fill(subject, question, beyond_card=beyond_card)

    def _fill(self, target: str, question: str | None, *, beyond_card: bool = False) -> None:
        view, trace = self.session.view, self.session.trace
        words = Words(view.language)
        answer = why(trace, view.step, target, question, view.language)
        told = answer.sentences[answer.on_card :] if beyond_card else answer.sentences
        self.setAccessibleName(answer.question)
        self.title.setText(answer.question)
        self.body.setText("\n\n".join(told or answer.sentences))
        clear(self._steps)
        for k, step in enumerate(answer.steps_to_jump[:MOST_STEPS]):
            label = words("ui.why.step", step=f"{step:,}", what=step_says(trace, step))
            button = QPushButton(label)
            button.setAccessibleName(label)
            button.clicked.connect(lambda checked=False, step=step: self.went.emit(step))
            self._steps.addWidget(button, k // COLUMNS, k % COLUMNS)
        others = [offer for offer in self._offers if offer.text != answer.question]
        self.more.setText(words("ui.why.also"))
        self.more.setVisible(bool(others))
        clear(self._others)
        for k, offer in enumerate(others):
            self._others.addWidget(self._other(offer, beyond_card=beyond_card), k, 0, Qt.AlignmentFlag.AlignLeft)
        self._settle()

    def _other(self, offer: Offer, *, beyond_card: bool) -> QToolButton:
        button = QToolButton()
        button.setObjectName("link")
        button.setText(f"? {offer.text}")
        button.setAccessibleName(offer.text)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.clicked.connect(lambda: self._fill(offer.target, offer.question, beyond_card=beyond_card))
        return button

    def _settle(self) -> None:
        """As high as what is said needs."""
        self.bring(WIDTH, 200)
        layout = self.layout()
        if layout is not None:
            layout.invalidate()
            layout.activate()
            window = self.parentWidget()
            most = window.height() - 96 if window is not None else 600
            self.resize(self.width(), min(most, max(120, layout.heightForWidth(self.width()))))
        self.setFocus()
