// Package mail sends texts through a server of SMTP (RFC 5321).
package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"strings"
	"time"

	message "github.com/emersion/go-message/mail"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// A Server is one that takes mail from us.
type Server struct {
	Addr     string // HOST:PORT
	Security string // one of Securities
	From     string // an address, with or without a name: OpenManus <agent@example.org>
	User     string // "": without a sign-in
	Password string

	// TLS, if not nil, says which certificates of the server are good.
	TLS *tls.Config
}

// Securities are how a connection is encrypted: after it has begun, from its beginning, or not at all.
var Securities = []string{"starttls", "tls", "none"}

// Check says what is wrong with a server, or with addresses that mail is to be sent to.
func (s *Server) Check(to string) error {
	if _, _, err := net.SplitHostPort(s.Addr); err != nil {
		return errors.New("[mail] server: the server that takes mail, as HOST:PORT")
	}
	if _, err := mail.ParseAddress(s.From); err != nil {
		return errors.New("[mail] from: an address such as agent@example.org")
	}
	if _, err := mail.ParseAddressList(to); err != nil {
		return fmt.Errorf("%q: addresses such as ann@example.org, separated by commas", to)
	}
	return nil
}

// A Letter is what is sent.
type Letter struct {
	ID      string // the same whenever it is sent again
	To      string // addresses, separated by commas
	Subject string
	Date    time.Time
	Text    string
}

// Refused says that a letter would be refused each time.
type Refused struct{ Err error }

// Error implements error.
func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns what the server said.
func (r *Refused) Unwrap() error { return r.Err }

// Send sends a letter to all of its addresses. The error is a [*Refused] if the server refused an address or
// the letter for good. It may be called by several goroutines at once.
func (s *Server) Send(ctx context.Context, l Letter) (err error) {
	from, err := mail.ParseAddress(s.From)
	if err != nil {
		return err
	}
	to, err := mail.ParseAddressList(l.To)
	if err != nil {
		return &Refused{err}
	}
	data, err := s.compose(from, to, l)
	if err != nil {
		return err
	}
	c, end, err := s.dial(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Addr, err)
	}
	defer end()
	if err := s.send(c, from, to, data); err != nil {
		err = fmt.Errorf("%s: %w", s.Addr, cmp.Or(ctx.Err(), err))
		// 535 and the like are of the sign-in, which a person can mend.
		if said := (*smtp.SMTPError)(nil); errors.As(err, &said) && !said.Temporary() && said.Code/10 != 53 && said.Code != 502 {
			return &Refused{err}
		}
		return err
	}
	return nil
}

func (s *Server) send(c *smtp.Client, from *mail.Address, to []*mail.Address, data []byte) error {
	if s.User != "" {
		if err := c.Auth(sasl.NewPlainClient("", s.User, s.Password)); err != nil {
			return fmt.Errorf("the sign-in of %s: %w", s.User, err)
		}
	}
	if err := c.Mail(from.Address, nil); err != nil {
		return err
	}
	for _, a := range to {
		if err := c.Rcpt(a.Address, nil); err != nil {
			return fmt.Errorf("to %s: %w", a.Address, err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // the letter is taken
	return nil
}

// dial connects to the server. end closes the connection, as does the end of ctx.
func (s *Server) dial(ctx context.Context) (c *smtp.Client, end func(), err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	host, _, _ := net.SplitHostPort(s.Addr)
	config := new(tls.Config)
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	config.ServerName = host
	switch s.Security {
	case "tls":
		c = smtp.NewClient(tls.Client(conn, config))
	case "none":
		if s.User != "" && host != "localhost" && !net.ParseIP(host).IsLoopback() {
			err = errors.New("a password is not sent without encryption: [mail] security")
		}
		c = smtp.NewClient(conn)
	default:
		c, err = smtp.NewClientStartTLS(conn, config)
	}
	if err != nil {
		stop()
		return nil, nil, errors.Join(cmp.Or(ctx.Err(), err), conn.Close())
	}
	return c, func() {
		stop()
		_ = c.Close() // what it could say was said
	}, nil
}

// compose writes a letter as RFC 5322 has it.
func (s *Server) compose(from *mail.Address, to []*mail.Address, l Letter) ([]byte, error) {
	var h message.Header
	h.SetAddressList("From", []*message.Address{(*message.Address)(from)})
	var all []*message.Address
	for _, a := range to {
		all = append(all, (*message.Address)(a))
	}
	h.SetAddressList("To", all)
	h.SetSubject(strings.Join(strings.Fields(l.Subject), " "))
	h.SetDate(l.Date)
	_, domain, _ := strings.Cut(from.Address, "@")
	h.SetMessageID(l.ID + "@" + domain)
	h.Set("Auto-Submitted", "auto-generated") // RFC 3834: nobody answers it with "I am away"
	h.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
	h.Set("Content-Transfer-Encoding", "quoted-printable")
	var b bytes.Buffer
	w, err := message.CreateSingleInlineWriter(&b, h)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(l.Text, "\r\n", "\n"), "\n", "\r\n"), "\uFFFD")); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
