package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
)

// ownSession returns the index entry of a session of the user who makes the
// request. A session of another user is reported as if it did not exist.
func (s *Server) ownSession(ctx context.Context, id string) (journal.SessionInfo, error) {
	info, err := s.Store.Session(ctx, id)
	if err == nil && info.Owner != userOf(ctx).Name {
		err = fmt.Errorf("session %s belongs to another user: %w", id, openmanus.ErrNoSession)
	}
	return info, err
}

// sessionResponse returns the response with the present view of a session.
func (s *Server) sessionResponse(ctx context.Context, id string) (*body[Session], error) {
	info, err := s.ownSession(ctx, id)
	if err != nil {
		return nil, err
	}
	v, err := s.view(ctx, info)
	return &body[Session]{v}, err
}

// A createRequest asks for a new session. Empty fields are as configured, except for
// the approval mode, which is then ask.
type createRequest struct {
	Body struct {
		Agent     string      `json:"agent,omitempty" maxLength:"200" doc:"Default: the configured agent."`
		Model     string      `json:"model,omitempty" maxLength:"200" doc:"PROVIDER/NAME or the name of a profile. Default: the configured model."`
		Workspace string      `json:"workspace,omitempty" maxLength:"1000" doc:"Relative to your directory of workspaces; created if it does not exist. Default: a new one."`
		Approve   string      `json:"approve,omitempty" enum:"ask,edits,all,plan,readonly" doc:"The mode: what runs without a question. plan: the agent only looks, and ends with a plan for approval. Default: ask."`
		Limits    Limits      `json:"limits,omitempty"`
		Flow      *Flow       `json:"flow,omitempty" doc:"Plan first: a planner writes a plan, and agents do its steps in child sessions."`
		Evaluate  *Evaluation `json:"evaluate,omitempty" doc:"Attempt the task several times and keep the best attempt. Excludes flow."`
	}
}

// create opens a session without a message. The host reports a fault of an
// agent, a model or a flow as a [FieldError].
func (s *Server) create(ctx context.Context, in *createRequest) (*body[Session], error) {
	b := in.Body
	if b.Flow != nil && b.Evaluate != nil {
		err := errors.New("a session either plans or evaluates: leave out flow or evaluate")
		return nil, &FieldError{"evaluate", err}
	}
	id, err := s.open(ctx, NewSession{
		Agent: b.Agent, Model: b.Model, Workspace: b.Workspace, Approve: b.Approve,
		Limits: b.Limits.limits(), Flow: b.Flow, Evaluate: b.Evaluate,
	})
	if err != nil {
		return nil, err
	}
	return s.sessionResponse(ctx, id)
}

// open opens a session for the user who makes the request, and returns its id.
// n.Workspace is a name as the user writes it; if it is empty, the session
// gets a workspace of its own. open sets n.Owner.
func (s *Server) open(ctx context.Context, n NewSession) (string, error) {
	id := ids.Session()
	return id, s.openNamed(ctx, id, n)
}

// openNamed is open under an id. If there is such a session, or another request opens it
// at the same time, it does nothing.
func (s *Server) openNamed(ctx context.Context, id string, n NewSession) error {
	u := userOf(ctx)
	n.Owner = u.Name
	var err error
	if n.Approve, err = u.mode("approve", n.Approve); err != nil {
		return err
	}
	if err := s.addSession(ctx, time.Now()); err != nil {
		return err
	}
	opened, err := s.openAs(ctx, u, id, n)
	if !opened {
		u.used.dropSession()
	}
	return err
}

// sessionNamed returns the session of the user that has an id, and opens it if there is none.
func (s *Server) sessionNamed(ctx context.Context, id string, n NewSession) (journal.SessionInfo, error) {
	info, err := s.ownSession(ctx, id)
	if !errors.Is(err, openmanus.ErrNoSession) {
		return info, err
	}
	if err := s.openNamed(ctx, id, n); err != nil {
		return info, err
	}
	return s.ownSession(ctx, id)
}

// openAs opens a session of a user under an id, unless there is one. It reports whether it
// did. Two requests with the same id at the same time open one session.
func (s *Server) openAs(ctx context.Context, u *user, id string, n NewSession) (opened bool, err error) {
	own := n.Workspace == ""
	dir, err := u.workspace(cmp.Or(n.Workspace, id))
	if err != nil {
		return false, &FieldError{"workspace", err}
	}
	n.Workspace = dir
	session := journal.SessionInfo{ID: id, Owner: n.Owner, Workspace: dir}
	done, err := s.reserveNew(ctx, session)
	if done == nil {
		return false, err
	}
	defer done()
	if own {
		if _, err := u.workspace(id); err != nil { // a request that failed may have removed it
			return false, &FieldError{"workspace", err}
		}
	}
	s.scheduler.acquire(session)
	if err := s.Host.Open(ctx, id, n); err != nil {
		if own {
			_ = os.Remove(dir) // if it is empty, as it should be
		}
		return false, err
	}
	return true, nil
}

// reserveNew reserves a session that is to be opened. If there is one by now, done is nil.
func (s *Server) reserveNew(ctx context.Context, session journal.SessionInfo) (done func(), err error) {
	for {
		done, ok := s.scheduler.reserve(session)
		_, err := s.Store.Session(ctx, session.ID)
		switch there := !errors.Is(err, openmanus.ErrNoSession); {
		case ok && there:
			done()
			return nil, err
		case ok:
			return done, nil
		case there:
			return nil, err
		case !s.scheduler.jobEnds(ctx, session.ID):
			return nil, huma.Error503ServiceUnavailable("the server is shutting down")
		}
	}
}

// approve returns the most permissive approval mode of the user's sessions.
func (u User) approve() string { return cmp.Or(u.Approve, openmanus.ApproveAsk) }

// mode returns the mode of a session for which the field of a request asks for one: that
// one, unless it allows more than the user's sessions may, or the default, which is ask or
// the widest mode of the user if that is stricter.
func (u User) mode(field, asked string) (string, error) {
	most := u.approve()
	if asked == "" {
		return openmanus.Stricter(openmanus.ApproveAsk, most), nil
	}
	if openmanus.Stricter(asked, most) != asked {
		return "", &FieldError{field, fmt.Errorf("you may not use %q; the most permissive mode you may use is %s. "+
			"An administrator of this server can change that: [users.%s] approve", asked, most, u.Name)}
	}
	return asked, nil
}

// A listRequest selects sessions of the user. All conditions hold together.
type listRequest struct {
	Limit  int      `query:"limit" default:"50" minimum:"1" maximum:"500"`
	Query  string   `query:"q" maxLength:"1000" doc:"Only sessions with a message or a title that contains all of these words."`
	Parent string   `query:"parent" maxLength:"255" doc:"The children of this session. Default: the sessions without a parent."`
	Status []string `query:"status,explode" maxItems:"6" enum:"idle,running,waiting,finished,failed,stopped" doc:"Only sessions with this status, or one of these."`
	After  string   `query:"after" pattern:"^[0-9]{1,18}(\\.[^\\s]{1,255})?$" maxLength:"300" doc:"Only what follows the page of the list that had this as next."`
}

// A listSession is a response with a page of sessions.
type listSession struct {
	Body struct {
		Items []Session `json:"items"`
		Next  string    `json:"next,omitempty" doc:"The next page: after=NEXT. None: this is the last one."`
	}
}

// list returns the sessions of the user, or the children of one of them, the
// most recently updated first; for a search, the best match first. Views in
// lists have no answer, which may be long.
func (s *Server) list(ctx context.Context, in *listRequest) (*listSession, error) {
	out := new(listSession)
	out.Body.Items = []Session{}
	last := ""
	for h, err := range s.found(ctx, in) {
		if err != nil {
			return nil, err
		}
		v, err := s.view(ctx, h.SessionInfo)
		if errors.Is(err, openmanus.ErrNoSession) {
			continue // deleted since it was listed
		}
		if err != nil {
			return nil, err
		}
		if len(in.Status) > 0 && !slices.Contains(in.Status, v.Status) {
			if !goesOn(v.Status) {
				s.markIdle(v.ID, v.Events) // so that the next list of what is open need not read it
			}
			continue
		}
		if len(out.Body.Items) == in.Limit {
			out.Body.Next = last
			break
		}
		if v.Answer, v.Proposal = "", ""; h.Seq > 0 {
			v.Found = &Found{h.Seq, h.Snippet}
		}
		out.Body.Items, last = append(out.Body.Items, v), h.next
	}
	return out, nil
}

// goesOn reports whether a session of this status goes on, perhaps after an answer.
func goesOn(status string) bool {
	return status == string(openmanus.Running) || status == string(openmanus.Waiting)
}

// A listedSession is a session on its way into a list.
type listedSession struct {
	journal.Hit
	next string // the cursor of what follows it
}

// found yields the sessions that a request may mean, from where its page begins. Cursors
// are the number of hits before, for a search, and else the place of a session:
// MICROSECONDS.ID.
func (s *Server) found(ctx context.Context, in *listRequest) iter.Seq2[listedSession, error] {
	opts := journal.ListOptions{Owner: userOf(ctx).Name, Roots: in.Parent == "", Parent: in.Parent}
	if len(in.Status) == 0 {
		opts.Limit = in.Limit + 1 // the last of which says that there is a next page
	}
	first, id, placed := strings.Cut(in.After, ".")
	n, _ := strconv.ParseInt(cmp.Or(first, "0"), 10, 64) // of digits, as the pattern wants
	return func(yield func(listedSession, error) bool) {
		switch {
		case in.After != "" && placed == (in.Query != ""):
			yield(listedSession{}, &FieldError{"query.after", errors.New("it is of another list: give what the page before had as next")})
			return
		case in.Query != "":
			if opts.Limit > 0 {
				opts.Limit += int(n)
			}
			hits, err := s.Store.Search(ctx, in.Query, opts)
			if err != nil {
				yield(listedSession{}, err)
				return
			}
			for i, h := range hits[min(int(n), len(hits)):] {
				if !yield(listedSession{h, strconv.FormatInt(n+int64(i)+1, 10)}, nil) {
					return
				}
			}
			return
		case placed:
			opts.After = journal.Place{Updated: time.UnixMicro(n).UTC(), ID: id}
		}
		opts.Open = len(in.Status) > 0 && !slices.ContainsFunc(in.Status, func(status string) bool { return !goesOn(status) })
		for info, err := range s.Store.Sessions(ctx, opts) {
			at := strconv.FormatInt(info.Updated.UnixMicro(), 10) + "." + info.ID
			if !yield(listedSession{journal.Hit{SessionInfo: info}, at}, err) || err != nil {
				return
			}
		}
	}
}

// A readRequest asks for a session, perhaps after it has stopped. Wait is in
// seconds.
type readRequest struct {
	OneSession
	Wait int `query:"wait" minimum:"0" maximum:"300" doc:"Respond after this many seconds, or as soon as the session does not run or a call waits for the user, here or in a child session."`
}

// read returns the view of a session, after waiting for it if asked to.
func (s *Server) read(ctx context.Context, info journal.SessionInfo, in *readRequest) (*body[Session], error) {
	if in.Wait > 0 {
		if err := s.wait(ctx, info.ID, time.Duration(in.Wait)*time.Second); err != nil {
			return nil, err
		}
	}
	return s.sessionResponse(ctx, info.ID)
}

// A planRequest asks for a plan, perhaps for one of the past: At is a sequence
// number, and 0 stands for now.
type planRequest struct {
	OneSession
	At int64 `query:"at" minimum:"0" doc:"The plan as it was after this event. Default: as it is now."`
}

// plan returns a session's plan and its progress after an event. Without a
// plan, the response has no steps.
func (s *Server) plan(ctx context.Context, info journal.SessionInfo, in *planRequest) (*body[Plan], error) {
	out := &body[Plan]{Plan{Steps: []Step{}}}
	p, ok := s.Host.(Planner)
	if !ok {
		return out, nil
	}
	var st openmanus.State
	for ev, err := range s.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, err
		}
		if in.At > 0 && ev.Seq > in.At {
			break
		}
		st.Apply(ev)
	}
	if plan := p.Plan(&st); plan != nil {
		out.Body = *plan
	}
	return out, nil
}

// remove deletes a session and its descendants. If the session is driven, here
// or by another process, it deletes nothing.
func (s *Server) remove(ctx context.Context, info journal.SessionInfo, in *OneSession) (*struct{}, error) {
	done, err := s.reserve(ctx, info)
	if err != nil {
		return nil, err
	}
	defer done()
	// Delete takes the lease too, but by then the children would be gone.
	lease, err := s.Store.Lock(ctx, info.ID)
	if err != nil {
		return nil, err
	}
	if err := lease.Release(); err != nil {
		return nil, err
	}
	s.scheduler.release(info.ID)
	if err := s.removeAll(ctx, info.ID); err != nil {
		return nil, err
	}
	if info.Parent == "" {
		userOf(ctx).used.dropSession()
	}
	return nil, nil
}

// removeAll deletes the descendants of a session before the session itself, so
// that a failure leaves no child without its parent.
func (s *Server) removeAll(ctx context.Context, id string) error {
	for child, err := range s.Store.Sessions(ctx, journal.ListOptions{Parent: id}) {
		if err != nil {
			return err
		}
		if err := s.removeAll(ctx, child.ID); err != nil {
			return err
		}
	}
	s.states.forget(id)
	if err := s.Store.Delete(ctx, id); err != nil {
		return err
	}
	if c, ok := s.Host.(Cleaner); ok {
		return c.Deleted(id)
	}
	return nil
}

// A forkRequest asks for a copy of the events up to At, or of all if At is 0.
type forkRequest struct {
	OneSession
	Body struct {
		At    int64 `json:"at,omitempty" minimum:"0" doc:"The last event to copy. Default: the last event of the session."`
		Share bool  `json:"share,omitempty" doc:"Copy no files: both sessions work in the same directory. Default: the copy has the files as they were after the event, in a directory of its own."`
	}
}

// fork copies the events of a session, up to one of them, into a new session,
// which is stopped: a message or retry continues it. The new session gets a copy of
// the files, if the host can make one, unless the request says otherwise.
func (s *Server) fork(ctx context.Context, info journal.SessionInfo, in *forkRequest) (*body[Session], error) {
	if in.Body.At > info.Events {
		return nil, &FieldError{"at", Absent(fmt.Sprintf("the last event is %d", info.Events))}
	}
	if err := s.addSession(ctx, time.Now()); err != nil {
		return nil, err
	}
	id := ids.Session()
	if err := s.forkAs(ctx, info, in, id); err != nil {
		userOf(ctx).used.dropSession()
		return nil, err
	}
	return s.sessionResponse(ctx, id)
}

// forkAs copies a session under an id that is new, with a copy of its files unless the
// request shares the workspace or the host copies none.
func (s *Server) forkAs(ctx context.Context, info journal.SessionInfo, in *forkRequest, id string) error {
	f, ok := s.Host.(Forker)
	if !ok || in.Body.Share || info.Workspace == "" {
		return journal.Fork(ctx, s.Store, info.ID, in.Body.At, id)
	}
	if err := checkWorkspace(info.Workspace); err != nil {
		return err
	}
	root, err := userOf(ctx).openRoot()
	if err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(root.Name())
	if err := errors.Join(err, root.Close()); err != nil {
		return err
	}
	return f.Fork(ctx, info.ID, in.Body.At, id, dir)
}

// export streams the session and its blobs, without its children, in the format
// that openmanus sessions import reads.
func (s *Server) export(ctx context.Context, info journal.SessionInfo, in *OneSession) (*huma.StreamResponse, error) {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "application/jsonl")
		hc.SetHeader("Content-Disposition", `attachment; filename="`+info.ID+`.jsonl"`)
		err := journal.Export(hc.Context(), s.Store, s.Store, info.ID, hc.BodyWriter())
		if err != nil { // the status is sent; import notices that the file has no end
			s.Log.Error("export incomplete", "session", info.ID, "error", err)
		}
	}}, nil
}

// A usageRequest asks what models used.
type usageRequest struct {
	By    string `query:"by" enum:"model,agent,day,session" default:"model" doc:"What the groups are of."`
	Since string `query:"since" format:"date" doc:"The first day, in UTC: 2006-01-02. Default: all days."`
}

// A usageResponse is what all sessions of a user have consumed.
type usageResponse struct {
	Body struct {
		Usage
		Sessions int         `json:"sessions" doc:"How many sessions the user has, whenever they were used."`
		By       string      `json:"by"`
		Groups   []UsageOfIt `json:"groups" doc:"The most expensive first."`
	}
}

// UsageOfIt is what was used of one model, by one agent, on one day or by one session.
type UsageOfIt struct {
	Name     string `json:"name" doc:"The model, agent, day (UTC) or session."`
	Requests int    `json:"requests"`
	Usage
}

// usage adds up the usage of all sessions of the user, children included, by model, agent,
// session or day.
func (s *Server) usage(ctx context.Context, in *usageRequest) (*usageResponse, error) {
	opts := journal.MeterOptions{By: in.By, Owner: userOf(ctx).Name}
	if in.By == "agent" {
		opts.By = "flow"
	}
	if in.Since != "" {
		var err error
		if opts.Since, err = time.Parse(time.DateOnly, in.Since); err != nil {
			return nil, &FieldError{"since", errors.New("it is a day such as 2006-01-02")}
		}
	}
	used, err := s.Store.Used(ctx, opts)
	if err != nil {
		return nil, err
	}
	sessions, err := s.count(ctx, journal.ListOptions{Owner: opts.Owner})
	out := new(usageResponse)
	out.Body.Usage, out.Body.Sessions, out.Body.By = totalOf(used), sessions, in.By
	out.Body.Groups = []UsageOfIt{}
	for _, u := range used {
		if opts.By == "flow" {
			u.Name, _, _ = strings.Cut(u.Name, "?") // without the settings of a flow
		}
		out.Body.Groups = append(out.Body.Groups, UsageOfIt{u.Name, u.Requests, usageView(u.Usage, u.Cost, u.Unpriced)})
	}
	return out, err
}

// totalOf adds up what was used.
func totalOf(all []journal.Used) Usage {
	var sum journal.Used
	for _, u := range all {
		sum.Usage, sum.Cost, sum.Unpriced = sum.Usage.Add(u.Usage), sum.Cost+u.Cost, sum.Unpriced+u.Unpriced
	}
	return usageView(sum.Usage, sum.Cost, sum.Unpriced)
}
