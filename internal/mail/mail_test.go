package mail_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	ours "github.com/openmanus-go/openmanus/internal/mail"
)

// A post office takes mail on loopback.
type office struct {
	mu     sync.Mutex
	taken  []string
	to     []string
	refuse error // what it says of the recipient
	user   string
}

type visit struct {
	o    *office
	user string
}

func (o *office) NewSession(*smtp.Conn) (smtp.Session, error) { return &visit{o: o}, nil }

func (v *visit) AuthMechanisms() []string { return []string{"PLAIN"} }
func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "ann" || password != "sesame" {
			return smtp.ErrAuthFailed
		}
		v.user = user
		return nil
	}), nil
}
func (v *visit) Mail(string, *smtp.MailOptions) error {
	if v.o.user != v.user {
		return smtp.ErrAuthRequired
	}
	return nil
}
func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	v.o.mu.Lock()
	defer v.o.mu.Unlock()
	v.o.to = append(v.o.to, to)
	return v.o.refuse
}
func (v *visit) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	v.o.mu.Lock()
	defer v.o.mu.Unlock()
	v.o.taken = append(v.o.taken, string(data))
	return err
}
func (*visit) Reset()        {}
func (*visit) Logout() error { return nil }

// open opens an office and returns its address, and the certificates that it is to be known by.
func (o *office) open(t *testing.T, security string) (addr string, roots *tls.Config) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(nil) // for its certificate
	web.StartTLS()
	defer web.Close()
	pool := x509.NewCertPool()
	pool.AddCert(web.Certificate())
	s := smtp.NewServer(o)
	s.Domain, s.AllowInsecureAuth = "localhost", security == "none"
	s.ErrorLog = quiet{}
	switch security {
	case "starttls":
		s.TLSConfig = &tls.Config{Certificates: web.TLS.Certificates}
	case "tls":
		l = tls.NewListener(l, &tls.Config{Certificates: web.TLS.Certificates})
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) }) // it ends when it is closed
	t.Cleanup(func() {
		_ = s.Close()
		_ = l.Close() // which s does not know yet, if the test ends before Serve has begun
		serving.Wait()
	})
	return l.Addr().String(), &tls.Config{RootCAs: pool}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

// TestSend sends a letter in each way that a connection is encrypted.
func TestSend(t *testing.T) {
	for _, security := range ours.Securities {
		t.Run(security, func(t *testing.T) {
			o := &office{user: "ann"}
			addr, roots := o.open(t, security)
			s := &ours.Server{Addr: addr, Security: security, From: "Der Agent ü <agent@example.org>", User: "ann", Password: "sesame", TLS: roots}
			l := ours.Letter{
				ID: "report.slot-1", To: "Ann <ann@example.org>, bob@example.org", Subject: "Bericht über\r\nBcc: eve@example.org", Date: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
				Text: "# Drei Monate: ü 你好 = 3\n.\n.line\n" + strings.Repeat("long ", 400) + "\nthe end",
			}
			if err := s.Check(l.To); err != nil {
				t.Fatal(err)
			}
			if err := s.Send(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			if err := s.Send(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			if len(o.taken) != 2 || strings.Join(o.to[:2], " ") != "ann@example.org bob@example.org" {
				t.Fatalf("%d letters to %v", len(o.taken), o.to)
			}
			m, err := mail.ReadMessage(strings.NewReader(o.taken[0]))
			if err != nil {
				t.Fatal(err)
			}
			words := new(mime.WordDecoder)
			subject, err := words.DecodeHeader(m.Header.Get("Subject"))
			if err != nil || subject != "Bericht über Bcc: eve@example.org" || m.Header.Get("Bcc") != "" {
				t.Errorf("the subject is %q, %v, Bcc %q", subject, err, m.Header.Get("Bcc"))
			}
			for name, want := range map[string]string{"Message-Id": "<report.slot-1@example.org>", "Auto-Submitted": "auto-generated", "Date": "Mon, 30 Nov 2026 09:00:00 +0000"} {
				if got := m.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
			if got := strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"); err != nil || got != l.Text {
				t.Errorf("the text is %q, %v", got, err)
			}
			for line := range strings.SplitSeq(o.taken[0], "\r\n") {
				if len(line) > 998 {
					t.Errorf("a line has %d bytes, and 998 are allowed", len(line))
				}
			}
		})
	}
}

// TestSendFails says which errors come again each time, and which may pass.
func TestSendFails(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := closed.Addr().String()
	_ = closed.Close()
	for _, tc := range []struct {
		name   string
		office *office
		change func(*ours.Server)
		want   string
		final  bool
	}{
		{"no such person", &office{refuse: &smtp.SMTPError{Code: 550, Message: "no such user"}}, nil, "no such user", true},
		{"a full mailbox", &office{refuse: &smtp.SMTPError{Code: 452, Message: "mailbox full"}}, nil, "mailbox full", false},
		{"a wrong password", &office{user: "ann"}, func(s *ours.Server) { s.User, s.Password = "ann", "x" }, "the sign-in of ann", false},
		{"no sign-in", &office{user: "ann"}, nil, "uthenticat", false},
		{"nobody there", &office{}, func(s *ours.Server) { s.Addr = gone }, "refused", false},
		{"a certificate of somebody else", &office{}, func(s *ours.Server) { s.TLS = nil }, "certificate", false},
		{"no address", &office{}, func(s *ours.Server) { s.From = "agent" }, "missing", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			addr, roots := tc.office.open(t, "starttls")
			s := &ours.Server{Addr: addr, Security: "starttls", From: "agent@example.org", TLS: roots}
			if tc.change != nil {
				tc.change(s)
			}
			err := s.Send(t.Context(), ours.Letter{ID: "x", To: "ann@example.org", Text: "hello"})
			final := errors.As(err, new(*ours.Refused))
			if err == nil || !strings.Contains(err.Error(), tc.want) || final != tc.final {
				t.Errorf("got %v (final: %v), want %q (%v)", err, final, tc.want, tc.final)
			}
			if len(tc.office.taken) > 0 {
				t.Error("a letter was taken all the same")
			}
		})
	}
	t.Run("no encryption offered", func(t *testing.T) {
		addr, _ := new(office).open(t, "none")
		err := (&ours.Server{Addr: addr, Security: "starttls", From: "a@example.org"}).Send(t.Context(), ours.Letter{To: "b@example.org"})
		if err == nil || !strings.Contains(err.Error(), "STARTTLS") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a password without encryption", func(t *testing.T) {
		err := (&ours.Server{Addr: gone, Security: "none", From: "a@example.org", User: "ann"}).Send(t.Context(), ours.Letter{To: "b@example.org"})
		if err == nil {
			t.Error("no error")
		}
	})
	t.Run("a server that says nothing", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var waits sync.WaitGroup
		waits.Go(func() {
			c, err := l.Accept()
			if err == nil {
				defer c.Close()
				cancel()
				_, _ = io.Copy(io.Discard, c)
			}
		})
		err = (&ours.Server{Addr: l.Addr().String(), Security: "none", From: "a@example.org"}).Send(ctx, ours.Letter{To: "b@example.org"})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		waits.Wait()
	})
}

// TestCheck says what is wrong with a configuration.
func TestCheck(t *testing.T) {
	good := ours.Server{Addr: "smtp.example.org:587", From: "Agent <agent@example.org>"}
	for _, tc := range []struct{ addr, from, to, want string }{
		{good.Addr, good.From, "ann@example.org, Bob <bob@example.org>", ""},
		{"smtp.example.org", good.From, "ann@example.org", "HOST:PORT"},
		{"", good.From, "ann@example.org", "HOST:PORT"},
		{good.Addr, "agent", "ann@example.org", "[mail] from"},
		{good.Addr, good.From, "ann", "separated by commas"},
		{good.Addr, good.From, "ann@example.org;bob@example.org", "separated by commas"},
	} {
		err := (&ours.Server{Addr: tc.addr, From: tc.from}).Check(tc.to)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v: got %v", tc, err)
		}
	}
}
