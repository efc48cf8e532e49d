"""A data analysis: `python3 analysis.py DIR prepare|run`.

`prepare` writes a year of measurements as one CSV file a month. `run` reads them with pandas three times, as a person does who looks again: for
a summary of each month, joined with a table of stations, and once more for the extremes; and writes what it found.
"""

import random
import sys

STATIONS, MONTHS, ROWS = 400, 12, 40_000

folder = sys.argv[1]
files = [f"{folder}/month{month:02}.csv" for month in range(1, MONTHS + 1)]


def prepare():
    draw = random.Random(1)
    with open(f"{folder}/stations.csv", "w") as file:
        file.write("station,region\n" + "".join(f"{number},{number % 16}\n" for number in range(STATIONS)))
    for path in files:
        with open(path, "w") as file:
            file.write("station,minute,value,error\n")
            for row in range(ROWS):
                file.write(f"{draw.randrange(STATIONS)},{row},{draw.gauss(20, 5):.4f},{draw.random():.6f}\n")


def run():
    import pandas

    means = [pandas.read_csv(path)["value"].mean() for path in files]
    pandas.Series(means).to_csv(f"{folder}/means.csv")
    for number, path in enumerate(files):
        joined = pandas.read_csv(path).merge(pandas.read_csv(f"{folder}/stations.csv"), on="station")
        joined.groupby("region")["value"].describe().to_csv(f"{folder}/regions{number:02}.csv")
    extremes = pandas.concat([pandas.read_csv(path).nlargest(20, "value") for path in files])
    extremes.to_csv(f"{folder}/extremes.csv")


prepare() if sys.argv[2] == "prepare" else run()
