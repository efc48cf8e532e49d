"""A design for a small FPGA: `python3 design.py DIR prepare|MODULE`.

`prepare` writes 24 modules of Verilog, each a pipeline of arithmetic without multiplications and a memory, and a top that
chains them; a number changes one module, as a designer does between two runs of the tools.
"""

import random
import sys

MODULES = 24
FORMS = (
    "{0} + {{{0}[7:0], {0}[15:8]}}",
    "{0} ^ ({0} >> {1})",
    "{0}[15] ? {0} - 16'd{2} : {0} + 16'd{2}",
    "{0} & 16'd{2} | in",
)
TOP = """module top(input clk, input button, output led);
reg [15:0] seed;
always @(posedge clk) seed <= {seed[14:0], button};
%sassign led = ^w%d;
endmodule
"""


def module(number, seed):
    draw = random.Random(f"{number} {seed}")
    lines = [f"module stage{number}(input clk, input [15:0] in, output reg [15:0] out);"]
    lines += ["reg [15:0] store [0:255];", "reg [7:0] place;"]
    steps = draw.randint(6, 14)
    lines += [f"reg [15:0] r{step};" for step in range(steps + 1)]
    lines += ["always @(posedge clk) begin", "    r0 <= in;", "    place <= place + 1;", "    store[place] <= r0;"]
    for step in range(steps):
        value = draw.choice(FORMS).format(f"r{step}", draw.randint(1, 9), draw.randint(1, 65535))
        lines.append(f"    r{step + 1} <= {value};")
    lines += [f"    out <= r{steps} ^ store[r0[7:0]];", "end", "endmodule"]
    return "\n".join(lines) + "\n"


def stage(number):
    before = f"w{number - 1}" if number else "seed"
    return f"wire [15:0] w{number};\nstage{number} s{number}(clk, {before}, w{number});\n"


folder, what = sys.argv[1:]
numbers = range(MODULES) if what == "prepare" else [int(what)]
for number in numbers:
    with open(f"{folder}/stage{number}.v", "w") as file:
        file.write(module(number, what))
if what == "prepare":
    with open(f"{folder}/top.v", "w") as file:
        file.write(TOP % ("".join(stage(number) for number in numbers), MODULES - 1))
