package server

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// A link that approves a call needs no login: it is for a telephone that got a message. It
// is a claim and its MAC, made with a key that is derived from the user's token, so the
// server stores none of them, and a new token ends all. It decides the one question that it
// names: not another call, not the same call with another effect, and nothing twice, since
// the first decision on a call holds.
const approveTime = 12 * time.Hour

// A claim is what an approval link is about.
type claim struct {
	User    string `json:"u"`
	Session string `json:"s"`
	Call    string `json:"c"`
	N       int    `json:"n"` // of the question
	Hash    string `json:"h"` // of what the person is to see
	Ends    int64  `json:"e"` // seconds since 1970
}

// sign returns the MAC of an encoded claim.
func (u *user) sign(claim []byte) []byte {
	key := hmac.New(sha256.New, []byte(u.Token))
	key.Write([]byte("openmanus approval link"))
	mac := hmac.New(sha256.New, key.Sum(nil))
	mac.Write(claim)
	return mac.Sum(nil)
}

// approvalPath returns the path of a link that decides a question to the user.
func (u *user) approvalPath(session string, q openmanus.Asked, now time.Time) string {
	data, err := json.Marshal(claim{u.Name, session, q.Call, q.N, q.Hash, now.Add(approveTime).Unix()})
	if err != nil {
		panic("server: " + err.Error()) // text and numbers
	}
	text := base64.RawURLEncoding
	// In the query, which the log of requests leaves out.
	return "/approve?link=" + text.EncodeToString(data) + "." + text.EncodeToString(u.sign(data))
}

// byLink returns the claim of an approval link and its user, or nil. It takes the same time
// for every wrong MAC.
func (us users) byLink(link string) (*claim, *user) {
	first, second, _ := strings.Cut(link, ".")
	data, err1 := base64.RawURLEncoding.DecodeString(first)
	mac, err2 := base64.RawURLEncoding.DecodeString(second)
	if errors.Join(err1, err2) != nil {
		return nil, nil
	}
	var found *user
	for _, u := range us {
		if hmac.Equal(mac, u.sign(data)) {
			found = u
		}
	}
	c := new(claim)
	if found == nil || json.Unmarshal(data, c) != nil || c.User != found.Name {
		return nil, nil
	}
	return c, found
}

// approve answers an approval link: it shows the call and, when the person decides, rules
// on it.
func (s *Server) approve(w http.ResponseWriter, r *http.Request) {
	c, u := s.users.byLink(r.URL.Query().Get("link"))
	if c == nil {
		writePublic(w, r, http.StatusNotFound, over("This link is not valid.", "此链接无效。"))
		return
	}
	ctx := context.WithValue(r.Context(), userKey{}, u)
	status, page := s.approval(ctx, c, time.Now())
	if status == http.StatusOK && r.Method == http.MethodPost {
		status, page = s.ruleByLink(ctx, r, c)
	}
	writePublic(w, r, status, page)
}

// over returns the page of a link that decides nothing any more.
func over(english, chinese string) func(say) string {
	return func(t say) string { return `<p role="status">` + t(english, chinese) + "</p>" }
}

// errAsksOtherwise says that the question of an approval link is no longer the one that the
// call asks.
var errAsksOtherwise = errors.New("the call asks something else now")

// claimed returns the call that a claim is about, if its question still waits and is the
// very one for which the link was made.
func (s *Server) claimed(ctx context.Context, c *claim) (call openmanus.CallState, q openmanus.Asked, title string, err error) {
	info, err := s.ownSession(ctx, c.Session)
	if err != nil {
		return call, q, "", err
	}
	call, q, err = s.pendingCall(ctx, c.Session, c.Call, openmanus.AskRuling)
	if err == nil && (q.N != c.N || q.Hash != c.Hash) {
		err = errAsksOtherwise
	}
	return call, q, info.Title, err
}

// approval returns the page that shows what a link decides. Nothing is decided by opening
// it: programs that preview links must not approve calls.
func (s *Server) approval(ctx context.Context, c *claim, now time.Time) (int, func(say) string) {
	ends := time.Unix(c.Ends, 0)
	if !now.Before(ends) {
		return http.StatusGone, over("This link has expired. Open the session to decide.", "此链接已过期。请打开会话进行处理。")
	}
	call, q, title, err := s.claimed(ctx, c)
	if err != nil {
		return http.StatusConflict, over("There is nothing left to decide here: the call was decided, has ended, or asks something else now.",
			"这里已没有需要处理的内容：该调用已被处理、已结束，或现在询问的是其他内容。")
	}
	var exact bytes.Buffer
	if json.Indent(&exact, []byte(call.Arguments()), "", "  ") != nil {
		exact.WriteString(call.Arguments())
	}
	return http.StatusOK, approvalForm(call.Name, q, title, exact.String(), ends)
}

// approvalForm is the body of the page that shows a call and asks whether it may run. All
// texts of the call, its tool and the session are plain text, with invisible characters
// written out.
func approvalForm(tool string, q openmanus.Asked, title, exact string, ends time.Time) func(say) string {
	text := func(s string) string { return html.EscapeString(clip.Visible(s)) }
	return func(t say) string {
		var b strings.Builder
		put := func(all ...string) { b.WriteString(strings.Join(all, "")) }
		put("<h1>", text(q.Question), "</h1><p>", t("The agent of this session wants to use ", "此会话中的智能体想要使用 "), text(tool), t(": ", "："), text(title),
			`</p><pre class="exact">`, text(exact), "</pre>")
		if q.Shown != "" {
			put(`<pre class="exact">`, text(q.Shown), "</pre>")
		}
		put("<dl>")
		if q.Rule != "" {
			put("<dt>", t("Why it is asked", "询问的原因"), "</dt><dd>", text(q.Rule), "</dd>")
		}
		if does := hintWords(q.Hints); does != "" {
			put("<dt>", t("What it does", "影响"), "</dt><dd>", text(does), "</dd>")
		}
		for _, from := range q.Sources {
			put("<dt>", text(from.Argument), "</dt><dd>", t("from ", "来自 "), text(from.From))
			if !from.Trusted {
				put(" ", t("(not trusted)", "（不可信）"))
			}
			put("</dd>")
		}
		put(`</dl><form method="post"><button class="btn primary" name="allow" value="true">`, t("Allow once", "允许一次"), "</button>",
			`<label for="reason">`, t("Why not, if you deny it", "拒绝的原因（可选）"), "</label>",
			`<input class="field" id="reason" name="reason" maxlength="`, strconv.Itoa(act.MaxReason), `" autocomplete="off">`,
			`<button class="btn danger" name="allow" value="false">`, t("Deny", "拒绝"), `</button></form><p class="tiny quiet">`,
			t("This link decides this one call and nothing else. It is valid until ", "此链接只能决定这一个调用，有效期至 "),
			ends.UTC().Format("2006-01-02 15:04 UTC"), "</p>")
		return b.String()
	}
}

// hintWords says what a tool declares that a call may do.
func hintWords(h openmanus.Hints) string {
	var all []string
	if h.Destructive {
		all = append(all, "destructive")
	}
	if h.Reach != "" {
		all = append(all, "reaches: "+string(h.Reach))
	}
	return strings.Join(all, ", ")
}

// ruleByLink rules on the call of a claim, as the form says. The journal says that it was
// by a link, and from where. The ruling carries the hash of what the link is about: if the
// effect has changed by the time that the call is about to run, the call fails instead.
func (s *Server) ruleByLink(ctx context.Context, r *http.Request, c *claim) (int, func(say) string) {
	if foreign(r) || r.ParseForm() != nil {
		return http.StatusForbidden, over("A form of another page decides nothing.", "其他页面的表单不能进行处理。")
	}
	allow := r.PostForm.Get("allow")
	if allow != "true" && allow != "false" {
		return http.StatusUnprocessableEntity, over("The form does not say whether to allow the call.", "表单没有说明是否允许该调用。")
	}
	d := act.Decision{Call: c.Call, Allow: allow == "true", Hash: c.Hash, By: userOf(ctx).Name + " by link from " + origin(r),
		Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
	if _, err := s.acts().Rule(ctx, c.Session, d); err != nil {
		s.Log.Warn("cannot decide a call by link", "session", c.Session, "call", c.Call, "error", err)
		return http.StatusConflict, over("The call could not be decided: "+err.Error(), "无法处理该调用："+err.Error())
	}
	s.Log.Info("call decided by link", "session", c.Session, "call", c.Call, "allow", d.Allow, "from", origin(r))
	if d.Allow {
		return http.StatusOK, over("Allowed, this once. You can close this page.", "已允许这一次。可以关闭此页面。")
	}
	return http.StatusOK, over("Denied. You can close this page.", "已拒绝。可以关闭此页面。")
}

// sessionPath returns the path of a session on the page.
func sessionPath(id string) string { return "/#/s/" + url.PathEscape(id) }
