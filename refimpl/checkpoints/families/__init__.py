"""What each family of models calls its tensors and its settings, and the way between that and ours."""
