"""Makes harbour/handbook/pump-station-7.pdf, the same bytes each time.

python examples/demo/make_pdf.py
"""

from __future__ import annotations

from pathlib import Path

from reportlab.lib.pagesizes import A5
from reportlab.pdfgen.canvas import Canvas

FILE = Path(__file__).parent / "harbour" / "handbook" / "pump-station-7.pdf"
PAGES = (
    (
        "Pump station 7: maintenance",
        "Pump station 7 lifts water from the eastern trunk main to Beacon",
        "Hill reservoir. It has two pumps of 75 kW, one on duty and one on",
        "standby. They change places every Monday, so that both wear alike.",
        "",
        "Bearings are greased every 500 running hours and their temperature",
        "is logged. At 80 degrees Celsius the pump trips; at 70 degrees the",
        "fitter is called.",
        "",
        "The wear ring gap is measured once a year. A gap above 0.8 mm costs",
        "about five per cent of the pump's efficiency, and the ring is changed.",
    ),
    (
        "Pump station 7: power failure",
        "On a power failure the diesel generator starts by itself within",
        "twenty seconds and carries one pump. The fuel tank holds 600 litres,",
        "enough for eighteen hours.",
        "",
        "The generator is run under load on the first Thursday of each month",
        "for thirty minutes. If it does not start, the control room opens the",
        "cross connection to Cold Lane reservoir at valve 118.",
    ),
)


def make() -> None:
    canvas = Canvas(str(FILE), pagesize=A5, invariant=1, pageCompression=1)
    canvas.setTitle("Pump station 7")
    for heading, *lines in PAGES:
        canvas.setFont("Helvetica-Bold", 14)
        canvas.drawString(40, 540, heading)
        canvas.setFont("Helvetica", 10)
        for number, line in enumerate(lines):
            canvas.drawString(40, 510 - 15 * number, line)
        canvas.showPage()
    canvas.save()


if __name__ == "__main__":
    make()
