"""What researchers measure: sharing, sums, comparisons of gradients, whole networks, growth."""
