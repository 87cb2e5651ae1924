package server

import (
	"context"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/SherClockHolmes/webpush-go"
	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/journal"
)

// Push lets a server send messages to browsers whose page is closed: Web Push, RFC 8030.
type Push struct {
	// The server's key pair, by which push services know it (VAPID, RFC 8292): a point
	// on P-256 and its scalar, in base64url. With another pair no message arrives.
	Public, Private string

	// Client sends the messages. Their addresses come from users, so it must not connect
	// to places that users must not reach.
	Client *http.Client
}

const (
	// maxDevices is the most devices of one user.
	maxDevices = 20

	// pushTimeout is for one message to one device.
	pushTimeout = 20 * time.Second

	// maxPushTitle is the most bytes of a title in a message, which a push service need
	// not take if it is larger than 4,096 bytes in all.
	maxPushTitle = 200
)

// devices returns the store of devices, or an error if the server pushes nothing.
func (s *Server) devices() (journal.Devices, error) {
	d, ok := s.Store.(journal.Devices)
	if !ok || s.Push == nil {
		return nil, huma.Error404NotFound("this server sends no messages to browsers")
	}
	return d, nil
}

// PushInfo is what a browser needs to get messages, and which ones do.
type PushInfo struct {
	Key     string     `json:"key" doc:"The server's public key, the applicationServerKey of a subscription."`
	Devices []PushedTo `json:"devices"`
}

// PushedTo is a browser that gets messages.
type PushedTo struct {
	Endpoint string    `json:"endpoint"`
	Name     string    `json:"name"`
	Added    time.Time `json:"added"`
}

// pushInfo lists the user's devices.
func (s *Server) pushInfo(ctx context.Context, _ *struct{}) (*body[PushInfo], error) {
	store, err := s.devices()
	if err != nil {
		return nil, err
	}
	all, err := store.Devices(ctx, userOf(ctx).Name)
	info := PushInfo{Key: s.Push.Public, Devices: []PushedTo{}}
	for _, d := range all {
		info.Devices = append(info.Devices, PushedTo{d.Endpoint, d.Name, d.Added})
	}
	return &body[PushInfo]{info}, err
}

// A Subscription is a browser's PushSubscription, with what people and messages need.
type Subscription struct {
	Endpoint string `json:"endpoint" maxLength:"2000"`
	Keys     struct {
		P256DH string `json:"p256dh" maxLength:"200"`
		Auth   string `json:"auth" maxLength:"100"`
	} `json:"keys"`
	Name     string `json:"name,omitempty" maxLength:"100" doc:"What people know the device by."`
	Language string `json:"language,omitempty" maxLength:"20" doc:"Of its messages: en or zh."`
}

// canPost reports whether the server posts to an address that a client gives: over TLS, or
// to this machine.
func canPost(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()))
}

// check returns an error that names the field unless messages for the subscription can be
// encrypted and sent: to an https address, with a key on P-256.
func (in Subscription) check() error {
	if !canPost(in.Endpoint) {
		return &FieldError{"endpoint", errors.New("it must be an https address")}
	}
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(in.Keys.P256DH, "="))
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if err != nil {
		return &FieldError{"keys.p256dh", errors.New("it must be a public key on P-256 in base64url")}
	}
	if auth, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(in.Keys.Auth, "=")); err != nil || len(auth) != 16 {
		return &FieldError{"keys.auth", errors.New("it must be 16 bytes in base64url")}
	}
	return nil
}

// subscribe adds a device of the user, or renews it. A user has a limited number of
// devices; the oldest one goes first.
func (s *Server) subscribe(ctx context.Context, in *body[Subscription]) (*struct{}, error) {
	store, err := s.devices()
	if err == nil {
		err = in.Body.check()
	}
	if err != nil {
		return nil, err
	}
	name := userOf(ctx).Name
	all, err := store.Devices(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(all) >= maxDevices { // the oldest one is hardly in use
		if err := store.RemoveDevice(ctx, name, all[len(all)-1].Endpoint); err != nil {
			return nil, err
		}
	}
	return nil, store.AddDevice(ctx, name, journal.Device{
		Endpoint: in.Body.Endpoint, Key: in.Body.Keys.P256DH, Auth: in.Body.Keys.Auth,
		Name: clip.Text(in.Body.Name, 100), Language: in.Body.Language, Added: time.Now(),
	})
}

// endpointQuery names a device.
type endpointQuery struct {
	Endpoint string `query:"endpoint" required:"true" minLength:"1" maxLength:"2000"`
}

// unsubscribe removes a device of the user.
func (s *Server) unsubscribe(ctx context.Context, in *endpointQuery) (*struct{}, error) {
	store, err := s.devices()
	if err != nil {
		return nil, err
	}
	return nil, store.RemoveDevice(ctx, userOf(ctx).Name, in.Endpoint)
}

// pushRoutes registers the operations on devices.
func (s *Server) pushRoutes(options ...option) {
	noContent := append(options, status(http.StatusNoContent))
	op(s, "GET /api/v1/push", "list-devices", "List the browsers that get messages", s.pushInfo, options...)
	op(s, "POST /api/v1/push", "add-device", "Get messages on a browser when a session waits or ends", s.subscribe, noContent...)
	op(s, "DELETE /api/v1/push", "remove-device", "Get no more messages on a browser", s.unsubscribe, noContent...)
}

// A message is what a device shows. It is encrypted for the device: the push service reads
// neither the title nor the link. It has no arguments, results or answers.
type message struct {
	Session string `json:"session"` // a later message about it replaces this one
	Title   string `json:"title"`
	Text    string `json:"text"`
	Path    string `json:"path"` // where a click leads, on this server
}

// push sends a message to every device of a user. Devices that are gone are forgotten.
// text returns the message's text in a language.
func (s *Server) push(ctx context.Context, owner string, m message, urgent bool, text func(language string) string) {
	store, err := s.devices()
	if err != nil {
		return
	}
	all, err := store.Devices(ctx, owner)
	if err != nil {
		s.Log.Warn("cannot read devices", "user", owner, "error", err)
		return
	}
	for _, d := range all {
		m.Title, m.Text = clip.Text(m.Title, maxPushTitle), text(d.Language)
		gone, err := s.pushTo(ctx, d, m, urgent)
		if gone {
			err = store.RemoveDevice(ctx, owner, d.Endpoint)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot send a message to a device", "user", owner, "device", d.Name, "error", err)
		}
	}
}

// pushTo sends a message to one device. gone reports whether its service says that it does
// not exist any more.
func (s *Server) pushTo(ctx context.Context, d journal.Device, m message, urgent bool) (gone bool, err error) {
	data, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	topic := sha256.Sum256([]byte(m.Session))
	o := webpush.Options{
		HTTPClient: s.Push.Client, Subscriber: contact, TTL: int(approveTime.Seconds()), Urgency: webpush.UrgencyNormal,
		Topic:          base64.RawURLEncoding.EncodeToString(topic[:24]), // at most 32 characters, which say nothing
		VAPIDPublicKey: s.Push.Public, VAPIDPrivateKey: s.Push.Private,
	}
	if urgent {
		o.Urgency = webpush.UrgencyHigh
	}
	resp, err := webpush.SendNotificationWithContext(ctx, data,
		&webpush.Subscription{Endpoint: d.Endpoint, Keys: webpush.Keys{Auth: d.Auth, P256dh: d.Key}}, &o)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return true, nil
	case resp.StatusCode >= 300:
		return false, errors.New("its push service answers " + resp.Status)
	}
	return false, nil
}

// contact is the address that a push service may use for questions about the messages.
// Each server is run by somebody else, and none of them gave an address.
const contact = "https://example.org/openmanus"
