package sandbox

// Where the way out is, inside.
const (
	proxyDir      = "/run/openmanus"
	proxyName     = "proxy.sock"
	forwarderPath = "/run/openmanus-forward"
)

// wrapped are the arguments of a command with what has to run around it.
func (h *house) wrapped(args []string) []string { return args }
