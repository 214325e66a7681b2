"""The words, subjects, phrases and addresses that mails are made of, and that extractors look for."""

from __future__ import annotations

__all__ = [
    "ADDRESS_BOOK", "BULK_MAILERS", "FREE_HOSTS", "MAILERS", "NAMES", "NEUTRAL_SUBJECTS", "PHRASES",
    "SEE_ATTACHED", "SUBJECTS", "WORDS",
]  # fmt: skip

NAMES = (
    "Ada",
    "Ben",
    "Carla",
    "Deniz",
    "Emil",
    "Fatima",
    "Goran",
    "Hana",
    "Ivo",
    "Jana",
    "Kofi",
    "Lena",
    "Marek",
)

# Hosts that the office has written to before.
ADDRESS_BOOK = {
    "invoice": ("paper-supply.example", "office-chairs.example", "cloud-hosting.example", "courier.example",
                "print-shop.example", "power-company.example"),
    "support": ("customer-one.example", "customer-two.example", "big-client.example", "shop-client.example"),
    "personal": ("family.example", "old-school.example", "chess-club.example"),
}  # fmt: skip
FREE_HOSTS = ("freemail.example", "webpost.example", "inbox.example", "letterbox.example")

MAILERS = ("Thunderbird 128.3", "Apple Mail (16.0)", "Outlook 16.0", "Evolution 3.54")
BULK_MAILERS = ("PHPMailer 5.2", "MassSend 2.1", "Outlook Express 6.00", "The Bat! 3.0")

SUBJECTS = {
    "invoice": ("Invoice # for October", "Your invoice #", "Payment reminder: invoice #",
                "Order # shipped, invoice"),
    "support": ("Re: [Ticket ##] cannot log in", "Error after update", "[Ticket ##] crash",
                "Bug in version 4.#"),
    "personal": ("Re: Sunday", "Pictures of the trip", "Birthday on Saturday?", "Dinner next week"),
    "spam": ("You have WON #!!!", "Cheap meds, 80% off", "URGENT: verify your account",
             "Make $# a week from home"),
}  # fmt: skip
NEUTRAL_SUBJECTS = (
    "Hello",
    "Document",
    "Question",
    "Re: your message",
    "For you",
    "Please read",
    "Fwd: as discussed",
)

PHRASES = {
    "invoice": (
        "Please transfer the amount due within 14 days.", "The net total includes value added tax.",
        "Payment terms are thirty days.", "We charge a late fee for overdue balances.",
        "The purchase order is listed below.",
    ),
    "support": (
        "The program crashes when I click on export.", "I cannot log in since the last update.",
        "Which version fixes this error?", "Please help, the server returns a timeout.",
        "I tried to reinstall it and the bug is still there.",
    ),
    "personal": (
        "The children loved the garden.", "Shall we meet for dinner on Sunday?", "Mum sends her love.",
        "I miss our walks by the lake.", "See you at the birthday party!",
    ),
    "spam": (
        "Click here to claim your free prize now!", "This limited offer is 100% risk free.",
        "Act now and win cash!", "Cheap pills without prescription.", "You were selected as a lucky winner.",
    ),
}  # fmt: skip
SEE_ATTACHED = (
    "Please see the attached file.",
    "As discussed, find it attached.",
    "Have a look at this one.",
)

_COMMON = """
about after again all almost also always and another any around ask away back because become before begin
between big both bring but call came can change city close come could country day did different do door
each early end enough even every example eye face fact far few find first follow for form found from gave
get give good great group grow hand hard have head hear here high home house how idea if important in
inside into it keep kind know large last later lead learn leave left letter life light like line list
little live long look made make man many may mean men might mile morning most mountain move much must name
near need never new next night north not note number of off often old on once only open or order other our
out over own page paper part people picture place plan plant play point question quick read real right
river room round run same school sea second see sentence set several she show side sign small so some song
soon sound spell stand start state still stop story street study such sure table take talk tell than that
the their them then there these they thing think this those though thought three through time together too
took tree turn two under until up us use very voice walk want watch water way week well went were what
when where which while white who why will with without word work world would write year you young
"""
WORDS = tuple(_COMMON.split())
