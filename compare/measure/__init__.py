"""What a run costs and how far off it is: outputs, gradients, memory and throughput."""
