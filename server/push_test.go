package server_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/server"
)

var b64 = base64.RawURLEncoding

// pushed are the keys of the servers of these tests.
var pushed = func() *server.Push {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return &server.Push{Public: b64.EncodeToString(key.PublicKey().Bytes()), Private: b64.EncodeToString(key.Bytes()), Client: http.DefaultClient}
}()

// A phone is a browser that gets messages, with the service that takes them for it.
type phone struct {
	t    *testing.T
	key  *ecdh.PrivateKey
	auth []byte
	*httptest.Server
	got chan got
}

// got is a message that arrived.
type got struct {
	Session, Title, Text, Path string
	header                     http.Header
}

// newPhone starts a push service. It answers with the status.
func newPhone(t *testing.T, status int) *phone {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &phone{t: t, key: key, auth: []byte("0123456789abcdef"), got: make(chan got, 10)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err == nil {
			data, err = p.decrypt(data)
		}
		g := got{header: r.Header}
		if err == nil {
			err = json.Unmarshal(data, &g)
		}
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		p.got <- g
	}))
	t.Cleanup(p.Close)
	return p
}

// subscription is what the phone's browser gives to the page.
func (p *phone) subscription() map[string]any {
	return map[string]any{"endpoint": p.URL + "/phone", "name": "Phone", "language": "zh-CN",
		"keys": map[string]any{"p256dh": b64.EncodeToString(p.key.PublicKey().Bytes()), "auth": b64.EncodeToString(p.auth)}}
}

// decrypt reads a message as RFC 8291 has it.
func (p *phone) decrypt(data []byte) ([]byte, error) {
	salt, size := data[:16], int(data[20])
	theirs, err := ecdh.P256().NewPublicKey(data[21 : 21+size])
	if err != nil {
		return nil, err
	}
	shared, err := p.key.ECDH(theirs)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(p.key.PublicKey().Bytes()) + string(theirs.Bytes())
	ikm, err := hkdf.Key(sha256.New, shared, p.auth, info, 32)
	if err != nil {
		return nil, err
	}
	key, _ := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, _ := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, data[21+size:], nil)
	return []byte(strings.TrimRight(strings.TrimRight(string(plain), "\x00"), "\x02")), err
}

// next returns the next message, which the server's key must have signed for this phone.
func (p *phone) next() got {
	p.t.Helper()
	select {
	case g := <-p.got:
		token, key, _ := strings.Cut(strings.TrimPrefix(g.header.Get("Authorization"), "vapid t="), ", k=")
		parts := strings.Split(token, ".")
		claims, _ := b64.DecodeString(parts[1])
		sig, _ := b64.DecodeString(parts[2])
		public, _ := b64.DecodeString(pushed.Public)
		pub, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), public)
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		if err != nil || key != pushed.Public || len(sig) != 64 || !strings.Contains(string(claims), `"aud":"`+p.URL+`"`) ||
			!ecdsa.Verify(pub, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
			p.t.Errorf("the message is not signed: %v, %s", err, claims)
		}
		return g
	case <-time.After(time.Minute):
		p.t.Fatal("no message came")
		return got{}
	}
}

// A telephone gets a message when a session waits, approves the call by its link, without
// a login, and gets another one when the session has ended.
func TestPush(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(
		llmtest.Use("", "file_saver", map[string]any{"file_path": "a.txt", "content": "sk-secret \u202ehidden <script>"}),
		llmtest.Use("", "file_saver", map[string]any{"file_path": "b.txt", "content": "more"}),
		llmtest.Say("It is written, sk-secret."),
	))
	p, gone := newPhone(t, 201), newPhone(t, 410)
	for _, d := range []*phone{p, gone} {
		x.call("POST", "/api/v1/push", d.subscription(), 204)
	}
	x.callAs(bobsToken, "POST", "/api/v1/push", newPhone(t, 500).subscription(), 204)
	id := x.session(map[string]any{"workspace": "w"})
	path := "/api/v1/sessions/" + id
	x.call("POST", path+"/messages", say("write it"), 202)

	g := p.next()
	if g.Session != id || g.Title == "" || g.Text != "等你处理：是否允许使用 file_saver" || !strings.HasPrefix(g.Path, "/approve?link=") || g.header.Get("Urgency") != "high" {
		t.Fatalf("%+v", g)
	}
	if strings.Contains(g.Title+g.Text, "secret") {
		t.Errorf("the message has the arguments: %+v", g)
	}
	gone.next()
	visit := func(method, path, form string, header map[string]string) (int, string) {
		all := map[string]string{"Authorization": "", "Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded"}
		for k, v := range header {
			all[k] = v
		}
		status, _, body := x.raw(wrong{method: method, path: path, header: all, body: form})
		return status, body
	}
	for range 2 { // looking decides nothing
		if status, body := visit("GET", g.Path, "", nil); status != 200 || !strings.Contains(body, `sk-secret \u202ehidden &lt;script&gt;`) || strings.Contains(body, "<script") {
			t.Fatalf("%d %s", status, body)
		}
	}
	link := strings.TrimPrefix(g.Path, "/approve?link=")
	for _, bad := range []string{"", link + "x", link[1:], strings.Replace(link, ".", "", 1), strings.Split(link, ".")[0] + ".", "e30.e30"} {
		if status, _ := visit("POST", "/approve?link="+url.QueryEscape(bad), "allow=true", nil); status != 404 {
			t.Errorf("the link %q: %d", bad, status)
		}
	}
	for form, want := range map[string]int{"": 422, "allow=maybe": 422} {
		if status, _ := visit("POST", g.Path, form, nil); status != want {
			t.Errorf("the form %q: %d", form, status)
		}
	}
	if status, _ := visit("POST", g.Path, "allow=true", map[string]string{"Origin": "https://evil.example"}); status != 403 {
		t.Errorf("a form of another site: %d", status)
	}
	if status, body := visit("POST", g.Path, "allow=true", map[string]string{"X-Forwarded-For": "192.0.2.7, <b>"}); status != 200 || !strings.Contains(body, "Allowed") {
		t.Fatalf("%d %s", status, body)
	}
	if status, _ := visit("POST", g.Path, "allow=false", nil); status != 409 {
		t.Errorf("the link works twice: %d", status)
	}

	second := p.next()
	if status, _ := visit("POST", g.Path, "allow=true", nil); status != 409 {
		t.Errorf("the link of one call approves another: %d", status)
	}
	if status, _ := visit("POST", second.Path, "allow=false&reason=not+now", nil); status != 200 {
		t.Errorf("denied: %d", status)
	}
	if g = p.next(); g.Text != "完成" || g.Path != "/#/s/"+id || g.header.Get("Urgency") != "normal" {
		t.Errorf("%+v", g)
	}
	var rulings []string
	for _, ev := range x.call("GET", path+"/log", nil, 200)["items"].([]any) {
		if ev := ev.(map[string]any); ev["type"] == "ruled" {
			data, err := json.Marshal(ev)
			if err != nil {
				t.Fatal(err)
			}
			rulings = append(rulings, string(data))
		}
	}
	if all := strings.Join(rulings, "\n"); len(rulings) != 2 || !strings.Contains(all, "ann by link from 127.0.0.1 for 192.0.2.7") || !strings.Contains(all, "not now") {
		t.Errorf("the journal says %s", all)
	}
	info := x.call("GET", "/api/v1/push", nil, 200)
	if devices := info["devices"].([]any); len(devices) != 1 || info["key"] != pushed.Public {
		t.Errorf("what is gone is kept: %v", info)
	}
	x.call("DELETE", "/api/v1/push?endpoint="+url.QueryEscape(p.URL+"/phone"), nil, 204)
	if devices := x.call("GET", "/api/v1/push", nil, 200)["devices"].([]any); len(devices) != 0 {
		t.Errorf("turned off, it has %v", devices)
	}
}

// Messages go only where they can be encrypted for a browser.
func TestBadSubscriptions(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	p := newPhone(t, 201)
	for name, change := range map[string]func(s, keys map[string]any){
		"endpoint":    func(s, _ map[string]any) { s["endpoint"] = "http://192.0.2.1/x" },
		"no endpoint": func(s, _ map[string]any) { s["endpoint"] = "" },
		"a file":      func(s, _ map[string]any) { s["endpoint"] = "file:///etc/passwd" },
		"p256dh":      func(_, k map[string]any) { k["p256dh"] = b64.EncodeToString(make([]byte, 65)) },
		"auth":        func(_, k map[string]any) { k["auth"] = "AAAA" },
	} {
		s := p.subscription()
		change(s, s["keys"].(map[string]any))
		if status, data := x.send(annsToken, "POST", "/api/v1/push", s); status != 422 {
			t.Errorf("%s: %d %s", name, status, data)
		}
	}
}
