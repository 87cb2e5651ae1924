package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/run"
)

// A scheduler drives the sessions that have something to do, each in a
// goroutine of its own that ends when the session is idle. It also keeps track
// of the resources that a [Holder] holds for a session, and releases them when
// the session has been idle for the idle timeout, or is the one that was idle longest of
// too many. Its methods are safe for concurrent use.
//
// At most one job works on a session at a time. A session that is woken during a
// job is driven again after it, because the runtime may have read its journal
// before the event that the wake is about. Sessions of other processes are not
// known here: for them, the runtime's lease decides.
type scheduler struct {
	runtime run.Runtime
	failed  func(session string, err error) // called when a session could not be driven
	idle    time.Duration                   // the idle timeout; 0: none

	// The most idle sessions that keep their resources, so that what is held is bounded by
	// number and not by time alone. short, if not nil, reports whether even that is too much
	// for the process.
	idleMost int
	short    func() bool

	// hold, if not nil, is called before anything is made for a session. It
	// is called without s.mu, by the goroutine that has the session's job.
	hold func(journal.SessionInfo) (release func())

	// notify, if not nil, is called before a session is driven, and what it returns
	// after that.
	notify func(context.Context, journal.SessionInfo) (ended func())

	ctx  context.Context
	stop context.CancelFunc
	all  sync.WaitGroup // of jobs

	mu     sync.Mutex
	jobs   map[string]*job       // by session; at most one each
	owners map[string]int        // the number of driving jobs, by owner
	held   map[string]*resources // by session
	closed bool
}

// A job is work on one session: driving it, or something that must not happen
// while it is driven, such as deleting it.
type job struct {
	session journal.SessionInfo
	driving bool
	again   bool          // the session was woken during the job
	ended   chan struct{} // closed when the session can have another job
}

// resources are what a [Holder] holds for one session.
type resources struct {
	release func()
	timer   *time.Timer // runs while the session is idle; nil otherwise
	session journal.SessionInfo
	since   time.Time // idle; zero while the session has a job, or is let go
	short   bool      // idle for after at most, in place of the idle timeout
	after   time.Duration
}

// newScheduler returns a scheduler that drives sessions with r until ctx ends or it is
// closed. failed is called by the goroutine of the job, after the job has ended. The
// caller sets idle, idleMost and hold before the first job.
func newScheduler(ctx context.Context, r run.Runtime, failed func(string, error)) *scheduler {
	ctx, stop := context.WithCancel(ctx)
	return &scheduler{
		runtime: r, failed: failed, ctx: ctx, stop: stop,
		jobs: make(map[string]*job), owners: make(map[string]int), held: make(map[string]*resources),
	}
}

// wake starts to drive a session, or has its present job followed by another
// drive. It returns at once. After close it does nothing: the session resumes
// when the next server starts.
func (s *scheduler) wake(session journal.SessionInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if j := s.jobs[session.ID]; j != nil {
		j.again = true
		return
	}
	j := &job{session: session, driving: true, ended: make(chan struct{})}
	s.jobs[session.ID] = j
	s.owners[session.Owner]++
	s.all.Go(func() { s.drive(j) })
}

// drive runs a driving job until the session is idle and was not woken again. It waits for
// room before each spell of work.
func (s *scheduler) drive(j *job) {
	if s.notify != nil {
		defer s.notify(s.ctx, j.session)()
	}
	for again := true; again; {
		s.acquire(j.session)
		err := s.runtime.Wake(s.ctx, j.session.ID)
		s.mu.Lock()
		again = j.again && err == nil && s.ctx.Err() == nil
		if j.again = false; !again {
			s.finish(j)
		}
		s.mu.Unlock()
		if err != nil && s.ctx.Err() == nil {
			s.failed(j.session.ID, err)
		}
	}
}

// driveNow drives a session and returns when that has ended. If the session has a job,
// driveNow waits for it first.
func (s *scheduler) driveNow(ctx context.Context, session journal.SessionInfo) error {
	j := &job{session: session, driving: true, ended: make(chan struct{})}
	for !s.begin(j) {
		if !s.jobEnds(ctx, session.ID) {
			return context.Cause(ctx)
		}
	}
	defer s.all.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if s.notify != nil {
		defer s.notify(ctx, session)()
	}
	s.acquire(session)
	err := s.runtime.Wake(ctx, session.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(j)
	return err
}

// begin makes j the job of its session, for which close waits. It reports false if that has
// one, or the scheduler is closed.
func (s *scheduler) begin(j *job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.jobs[j.session.ID] != nil {
		return false
	}
	s.jobs[j.session.ID] = j
	s.owners[j.session.Owner]++
	s.all.Add(1)
	return true
}

// finish removes a job and starts the idle timeout of the session's resources.
// The caller holds s.mu.
func (s *scheduler) finish(j *job) {
	id, owner := j.session.ID, j.session.Owner
	delete(s.jobs, id)
	close(j.ended)
	if j.driving {
		if s.owners[owner]--; s.owners[owner] == 0 {
			delete(s.owners, owner)
		}
	}
	if r := s.held[id]; r != nil {
		r.session, r.since = j.session, time.Now()
		s.startTimer(r)
		s.letGo()
	}
}

// startTimer starts the idle timeout of unused resources. The caller holds s.mu.
func (s *scheduler) startTimer(r *resources) {
	after := s.idle
	if r.short {
		after = r.after
	}
	if s.closed || s.idle <= 0 {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	session := r.session
	r.timer = time.AfterFunc(after, func() { s.end(session) })
}

// relieve ends what idle sessions hold, if that is too much.
func (s *scheduler) relieve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letGo()
}

// letGo releases the resources that have been idle longest while there are more than may be.
// When the process runs short of something, half of them are too many. The caller holds s.mu.
func (s *scheduler) letGo() {
	var idle []*resources
	for id, r := range s.held {
		if !r.since.IsZero() && s.jobs[id] == nil {
			idle = append(idle, r)
		}
	}
	most := s.idleMost
	if s.short != nil && s.short() {
		most = min(most, len(idle)/2)
	}
	if s.closed || len(idle) <= most {
		return
	}
	slices.SortFunc(idle, func(a, b *resources) int { return a.since.Compare(b.since) })
	for _, r := range idle[:len(idle)-most] {
		r.since = time.Time{} // it is not chosen again
		s.all.Go(func() { s.end(r.session) })
	}
}

// end releases the resources of a session unless it has a job, which starts their idle
// timeout anew.
func (s *scheduler) end(session journal.SessionInfo) {
	if done, ok := s.reserve(session); ok {
		s.release(session.ID)
		done()
	}
}

// keep holds the resources of a session only so long after its work, until it goes on. It
// is for sessions that few clients continue.
func (s *scheduler) keep(id string, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.held[id]
	if r == nil {
		return
	}
	r.short, r.after = true, after
	if s.jobs[id] == nil {
		s.startTimer(r)
	}
}

// reserve makes a job that does not drive: until done is called, the session
// has no other one. It reports false if the session has a job or the scheduler
// is closed.
func (s *scheduler) reserve(session journal.SessionInfo) (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.jobs[session.ID] != nil {
		return nil, false
	}
	j := &job{session: session, ended: make(chan struct{})}
	s.jobs[session.ID] = j
	s.all.Add(1)
	return func() {
		defer s.all.Done()
		s.mu.Lock()
		s.finish(j)
		s.mu.Unlock()
		if j.again {
			s.wake(session)
		}
	}, true
}

// jobEnds waits until the job that the session has now, if any, has ended or ctx has. It
// reports false if ctx has, or the scheduler is closed.
func (s *scheduler) jobEnds(ctx context.Context, session string) bool {
	s.mu.Lock()
	j, closed := s.jobs[session], s.closed
	s.mu.Unlock()
	if j != nil && !closed {
		select {
		case <-j.ended:
		case <-ctx.Done():
		}
	}
	return !closed && ctx.Err() == nil
}

// acquire calls hold for a session unless its resources are held already, and
// stops its idle timeout. The caller has the session's job.
func (s *scheduler) acquire(session journal.SessionInfo) {
	if s.hold == nil {
		return
	}
	s.mu.Lock()
	r := s.held[session.ID]
	if r != nil && r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if r != nil {
		r.short, r.since = false, time.Time{}
	}
	s.mu.Unlock()
	if r != nil {
		return
	}
	r = &resources{release: s.hold(session), session: session}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[session.ID] = r
}

// release releases the resources of a session, if there are any. The caller
// has the session's job.
func (s *scheduler) release(id string) {
	s.mu.Lock()
	r := s.held[id]
	delete(s.held, id)
	if r != nil && r.timer != nil {
		r.timer.Stop()
	}
	s.mu.Unlock()
	if r != nil {
		r.release()
	}
}

// driven reports whether a session is driven here, and how many sessions of
// the same owner are.
func (s *scheduler) driven(session journal.SessionInfo) (itself bool, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[session.ID]
	return j != nil && j.driving, s.owners[session.Owner]
}

// count returns how many sessions are driven, and how many hold resources.
func (s *scheduler) count() (driven, held int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.owners {
		driven += n
	}
	return driven, len(s.held)
}

// background runs f in a goroutine that close waits for. ctx ends with the
// scheduler. It reports false, and runs nothing, if the scheduler is closed.
func (s *scheduler) background(f func(ctx context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.all.Go(func() { f(s.ctx) })
	return true
}

// close stops driving and waits for all jobs. Held resources are not released
// here; their owner closes them.
func (s *scheduler) close() {
	s.mu.Lock()
	s.closed = true
	for _, r := range s.held {
		if r.timer != nil {
			r.timer.Stop()
		}
	}
	s.mu.Unlock()
	s.stop()
	s.all.Wait()
}
