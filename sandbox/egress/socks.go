package egress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The numbers of RFC 1928: the version, the command, types of addresses, and
// replies.
const (
	socksVersion   = 5
	socksConnect   = 1
	socksIPv4      = 1
	socksName      = 3
	socksIPv6      = 4
	socksOK        = 0
	socksFailed    = 1
	socksRefused   = 2
	socksNoHost    = 4
	socksNoAnswer  = 5
	socksNoCommand = 7
	socksNoType    = 8
)

// socks serves a connection that speaks SOCKS5.
func (s *serving) socks(c *conn) {
	target, code, err := socksTarget(c)
	if err != nil {
		if code != socksOK {
			socksReply(c, code)
		}
		s.tell(err)
		c.Close()
		return
	}
	up, err := s.Dialer.DialContext(s.ctx, "tcp", target)
	if err != nil {
		s.tell(err)
		socksReply(c, socksCode(err))
		c.Close()
		return
	}
	if err := socksReply(c, socksOK); err != nil {
		c.Close()
		up.Close()
		return
	}
	c.SetDeadline(time.Time{})
	s.tunnel(c, up, target)
}

// socksTarget reads the request of c, which must be one to connect without
// authentication. If code is not socksOK, it is the reply to send.
func socksTarget(c *conn) (target string, code byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:2]); err != nil {
		return "", socksOK, err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(c, methods); err != nil {
		return "", socksOK, err
	}
	if !strings.Contains(string(methods), "\x00") {
		_, err := c.Write([]byte{socksVersion, 0xff})
		return "", socksOK, errors.Join(errors.New("SOCKS5: the client wants to authenticate, which is not "+
			"supported"), err)
	}
	if _, err := c.Write([]byte{socksVersion, 0}); err != nil {
		return "", socksOK, err
	}
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return "", socksOK, err
	}
	if head[0] != socksVersion || head[2] != 0 {
		return "", socksFailed, errors.New("SOCKS5: the request is malformed")
	}
	if head[1] != socksConnect {
		return "", socksNoCommand, &Refused{Host: "SOCKS5", Rule: fmt.Sprintf("the command %d is not supported, "+
			"only CONNECT", head[1])}
	}
	return socksHost(c, head[3])
}

// socksHost reads the address and the port of a request.
func socksHost(c *conn, kind byte) (target string, code byte, err error) {
	n := byte(0)
	switch kind {
	case socksIPv4:
		n = 4
	case socksIPv6:
		n = 16
	case socksName:
		if n, err = c.r.ReadByte(); err != nil {
			return "", socksOK, err
		}
	default:
		return "", socksNoType, fmt.Errorf("SOCKS5: unknown type of address %d", kind)
	}
	data := make([]byte, int(n)+2)
	if _, err := io.ReadFull(c, data); err != nil {
		return "", socksOK, err
	}
	name, port := string(data[:n]), binary.BigEndian.Uint16(data[n:])
	if a, ok := netip.AddrFromSlice(data[:n]); ok && kind != socksName {
		name = a.String()
	}
	return net.JoinHostPort(name, strconv.Itoa(int(port))), socksOK, nil
}

// socksReply sends a reply. The bound address in it is always zero.
func socksReply(c *conn, code byte) error {
	_, err := c.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err
}

// socksCode returns the reply for an error of dialling.
func socksCode(err error) byte {
	switch {
	case errors.As(err, new(*Refused)):
		return socksRefused
	case errors.As(err, new(*net.DNSError)):
		return socksNoHost
	case errors.Is(err, syscall.ECONNREFUSED):
		return socksNoAnswer
	}
	return socksFailed
}
