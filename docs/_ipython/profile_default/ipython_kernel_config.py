"""The kernels of the examples draw vector figures and remember nothing."""

c = get_config()  # noqa: F821
c.InlineBackend.figure_formats = {"svg"}
c.HistoryManager.enabled = False
c.IPKernelApp.log_level = "ERROR"
