"""A document of a hundred pages: `python3 book.py DIR prepare|CHAPTER`.

`prepare` writes twelve chapters with formulas, tables, figures by TikZ, cross references, citations and an index; a number
writes one chapter anew, as an author does between two runs.
"""

import random
import sys

CHAPTERS, PARAGRAPHS = 12, 35
SYLLABLES = ("ba", "ke", "li", "mo", "nu", "re", "su"), ("r", "st", "nt", "l"), ("a", "en", "ig", "o", "um")
WORDS = [f"{a}{b}{c}" for a in SYLLABLES[0] for b in SYLLABLES[1] for c in SYLLABLES[2]]
FORMULA = r"\begin{equation}\sum_{i=1}^{n} \alpha_i \frac{x_i^{%d}}{\sqrt{1 + \mathbf{y}_i}} \in \mathbb{R}\end{equation}"
TABLE = r"""\begin{table}[htb]\centering\begin{tabular}{rrrrr}\toprule
%s\\\bottomrule\end{tabular}\caption{%s}\end{table}"""
FIGURE = (r"\begin{figure}[htb]\centering\begin{tikzpicture}\draw[->] (0,0) -- (10,0); "
          r"\draw plot[smooth] coordinates {%s};\end{tikzpicture}\caption{%s}\end{figure}")
BOOK = r"""\documentclass{book}
\usepackage{amsmath,amssymb,booktabs,tikz,makeidx,graphicx,microtype,hyperref}
\makeindex
\begin{document}
\tableofcontents
%s\bibliographystyle{plain}
\bibliography{book}
\printindex
\end{document}
"""


def sentence(draw):
    return " ".join(draw.choices(WORDS, k=draw.randint(6, 16))).capitalize() + ". "


def chapter(number, seed):
    draw = random.Random(f"{number} {seed}")
    lines = [f"\\chapter{{{sentence(draw)}}}\\label{{c{number}}}"]
    for place in range(PARAGRAPHS):
        if place % 12 == 0:
            lines.append(f"\\section{{{' '.join(draw.choices(WORDS, k=3))}}}")
        text = "".join(sentence(draw) for _ in range(draw.randint(4, 9)))
        lines.append(f"{text}See chapter~\\ref{{c{draw.randrange(CHAPTERS)}}} and "
                     f"\\cite{{k{draw.randrange(60)}}}.\\index{{{draw.choice(WORDS)}}}\n")
        form = draw.randrange(8)
        if form == 0:
            lines.append(FORMULA % draw.randint(2, 9))
        elif form == 1:
            rows = "\\\\\n".join(" & ".join(str(draw.randint(1, 9999)) for _ in range(5)) for _ in range(9))
            lines.append(TABLE % (rows, sentence(draw)))
        elif form == 2:
            points = " ".join(f"({x / 4}, {draw.random() * 3:.2f})" for x in range(40))
            lines.append(FIGURE % (points, sentence(draw)))
    return "\n".join(lines) + "\n"


def source(draw, number):
    author = f"{draw.choice(WORDS).capitalize()} {draw.choice(WORDS).capitalize()}"
    return (f"@book{{k{number}, author = {{{author}}}, title = {{{sentence(draw)}}}, "
            f"publisher = {{{draw.choice(WORDS)}}}, year = {1950 + number}}}\n")


folder, what = sys.argv[1:]
numbers = range(CHAPTERS) if what == "prepare" else [int(what)]
for number in numbers:
    with open(f"{folder}/chapter{number}.tex", "w") as file:
        file.write(chapter(number, what))
if what == "prepare":
    draw = random.Random(what)
    with open(f"{folder}/book.bib", "w") as file:
        file.writelines(source(draw, number) for number in range(60))
    with open(f"{folder}/book.tex", "w") as file:
        file.write(BOOK % "".join(f"\\include{{chapter{number}}}\n" for number in numbers))
