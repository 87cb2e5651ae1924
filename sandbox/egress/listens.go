package egress

import (
	"context"
	"net"
	"strconv"
	"time"
)

// listenTime is how long Listens waits for a program of this machine.
const listenTime = time.Second

// Listens reports whether a program of this machine accepts connections at a port of the
// loopback interface, by making one.
func Listens(ctx context.Context, port int) bool {
	d := net.Dialer{Timeout: listenTime}
	for _, host := range []string{"127.0.0.1", "::1"} {
		if conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			conn.Close()
			return true
		}
	}
	return false
}
