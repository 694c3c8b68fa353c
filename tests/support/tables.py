"""Tables of hospitals that are told apart by a few patients."""

NORTH = "".join(
    ["age,sex,ill\n", *(f"{30 + n % 37},{'fm'[n % 2]},{int(n % 5 > 2)}\n" for n in range(40))]
)
