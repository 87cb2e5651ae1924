package server

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus/journal"
)

// A Quota bounds what one user takes of a server that others use too. A field
// that is 0 has its default. If the store is a [journal.Tally], sessions are counted over all
// servers; other counts are of one, and those by the hour begin anew when it starts.
type Quota struct {
	Running int // the most sessions that run at once; 100
	Streams int // the most event streams that are open at once; 100
	Kept    int // the most sessions in the store, without children; 100,000
	Hourly  int // the most sessions that are created within an hour; 1,000

	// Disk is the most bytes in the directory of the user's workspaces, 50 GiB.
	// The server measures the directory about once a minute while the user
	// creates sessions or uploads files. With more in it, it refuses both.
	Disk int64

	Upload int64 // the most bytes that are uploaded within an hour, files and attachments; 10 GiB
}

// orDefault returns q with defaults in place of zeros.
func (q Quota) orDefault() Quota {
	return Quota{
		Running: cmp.Or(q.Running, 100), Streams: cmp.Or(q.Streams, 100),
		Kept: cmp.Or(q.Kept, 100_000), Hourly: cmp.Or(q.Hourly, 1000),
		Disk: cmp.Or(q.Disk, 50<<30), Upload: cmp.Or(q.Upload, 10<<30),
	}
}

// A usage is what a user has taken of their quota. Its methods are safe for
// concurrent use.
type usage struct {
	mu      sync.Mutex
	streams int

	began    time.Time // of the hour that sessions and uploaded are counted in
	sessions int
	uploaded int64

	kept    int
	counted time.Time // when kept was counted in the store; zero: never

	disk      int64     // the bytes that were measured
	added     int64     // the bytes that were uploaded since then
	measured  time.Time // when measuring began; zero: never
	measuring bool
}

// remeasure is the age from which on a count of sessions or a measurement of a
// directory is made again.
const remeasure = time.Minute

// tooMany returns an error with the status 429 and the time after which the
// request may succeed.
func tooMany(after time.Duration, format string, a ...any) error {
	return refusal(http.StatusTooManyRequests, after, fmt.Sprintf(format, a...))
}

// refusal returns an error with a Retry-After, which is in seconds, rounded up.
func refusal(status int, after time.Duration, text string) error {
	seconds := strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10)
	return huma.ErrorWithHeaders(huma.NewError(status, text), http.Header{"Retry-After": {seconds}})
}

// shortly is the Retry-After of a quota that the user frees themselves.
const shortly = 10 * time.Second

// openStream counts one more event stream of the user, until done is called. The error
// says how many are allowed.
func (u *user) openStream() (done func(), err error) {
	u.used.mu.Lock()
	defer u.used.mu.Unlock()
	if u.used.streams >= u.Quota.Streams {
		return nil, tooMany(shortly, "you have %d open event streams, and no more are allowed: close one", u.used.streams)
	}
	u.used.streams++
	return func() {
		u.used.mu.Lock()
		defer u.used.mu.Unlock()
		u.used.streams--
	}, nil
}

// checkQuota returns an error if the user who makes the request has as many
// running sessions as are allowed. A session that runs already, or a child,
// which runs as part of its parent, takes no further place.
func (s *Server) checkQuota(ctx context.Context, session journal.SessionInfo) error {
	running, all := s.scheduler.driven(session)
	if t, ok := s.Store.(journal.Tally); ok && !running && session.Parent == "" {
		var err error
		if _, _, all, err = t.Tally(ctx, userOf(ctx).Name, time.Now()); err != nil {
			return err
		}
	}
	if !running && session.Parent == "" && all >= userOf(ctx).Quota.Running {
		return tooMany(shortly, "%d of your sessions are running, and no more may run at once; wait until one ends", all)
	}
	return nil
}

// addSession counts one more session of the user who makes the request, or
// returns an error if that would be one too many.
func (s *Server) addSession(ctx context.Context, now time.Time) error {
	u := userOf(ctx)
	if err := s.checkDisk(u, 0, now); err != nil {
		return err
	}
	if err := s.countKept(ctx, u, now); err != nil {
		return err
	}
	if err := s.countCreated(ctx, u, now); err != nil {
		return err
	}
	u.used.mu.Lock()
	defer u.used.mu.Unlock()
	switch wait := u.used.hour(now); {
	case u.used.kept >= u.Quota.Kept:
		return tooMany(remeasure, "you have %d sessions, and no more may be kept: delete some", u.used.kept)
	case u.used.sessions >= u.Quota.Hourly:
		return tooMany(wait, "you have created %d sessions within an hour, and no more are allowed: try again in %s",
			u.used.sessions, wait.Round(time.Second))
	}
	u.used.sessions++
	u.used.kept++
	return nil
}

// dropSession takes back what addSession counted, for a session that was not
// created after all or that was deleted.
func (t *usage) dropSession() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept--
}

// hour begins a new hour if the last one is over, and returns how much is left of
// it. The caller holds t.mu.
func (t *usage) hour(now time.Time) time.Duration {
	if now.Sub(t.began) >= time.Hour {
		t.began, t.sessions, t.uploaded = now, 0, 0
	}
	return t.began.Add(time.Hour).Sub(now)
}

// countKept counts the user's sessions in the store if they were not counted yet,
// or if there seem to be too many: another process may have deleted some.
func (s *Server) countKept(ctx context.Context, u *user, now time.Time) error {
	u.used.mu.Lock()
	fresh := now.Sub(u.used.counted) < remeasure || !u.used.counted.IsZero() && u.used.kept < u.Quota.Kept
	u.used.mu.Unlock()
	if fresh {
		return nil
	}
	n, err := s.count(ctx, journal.ListOptions{Owner: u.Name, Roots: true})
	if err != nil {
		return err
	}
	u.used.mu.Lock()
	defer u.used.mu.Unlock()
	u.used.kept, u.used.counted = n, now
	return nil
}

// countCreated counts the sessions that the user has created within an hour at all servers,
// if the store can.
func (s *Server) countCreated(ctx context.Context, u *user, now time.Time) error {
	t, ok := s.Store.(journal.Tally)
	if !ok {
		return nil
	}
	all, created, _, err := t.Tally(ctx, u.Name, now.Add(-time.Hour))
	if err != nil {
		return err
	}
	u.used.mu.Lock()
	defer u.used.mu.Unlock()
	u.used.hour(now)
	u.used.kept, u.used.counted, u.used.sessions = all, now, created
	return nil
}

// addUpload counts n bytes that the user uploads, or returns an error if they are
// too many. onDisk says that they go into a workspace.
func (s *Server) addUpload(u *user, n int64, onDisk bool, now time.Time) error {
	if onDisk {
		if err := s.checkDisk(u, n, now); err != nil {
			return err
		}
	}
	u.used.mu.Lock()
	defer u.used.mu.Unlock()
	if wait := u.used.hour(now); n > u.Quota.Upload-u.used.uploaded {
		return refusal(http.StatusRequestEntityTooLarge, wait, fmt.Sprintf(
			"you have uploaded %d bytes within an hour, and with these %d would exceed the %d that are allowed: try again in %s",
			u.used.uploaded, n, u.Quota.Upload, wait.Round(time.Second)))
	}
	u.used.uploaded += n
	if onDisk {
		u.used.added += n
	}
	return nil
}

// checkDisk returns an error if the user's workspaces have no room for n bytes
// more. It does not wait until they are measured.
func (s *Server) checkDisk(u *user, n int64, now time.Time) error {
	u.used.mu.Lock()
	defer u.used.mu.Unlock()
	if !u.used.measuring && now.Sub(u.used.measured) >= remeasure {
		u.used.measuring = s.scheduler.background(func(ctx context.Context) { u.measure(ctx, now) })
	}
	if used := u.used.disk + u.used.added; used+n > u.Quota.Disk {
		return refusal(http.StatusRequestEntityTooLarge, remeasure, fmt.Sprintf(
			"your workspaces have %d bytes, and at most %d are allowed: delete files, and try again in a minute", used, u.Quota.Disk))
	}
	return nil
}

// measure adds up the files of the user's workspaces. Uploads during the
// measurement may count twice until the next one. A measurement that ctx
// interrupts does not count.
func (u *user) measure(ctx context.Context, began time.Time) {
	u.used.mu.Lock()
	before := u.used.added
	u.used.mu.Unlock()
	n, err := diskUsage(ctx, u.Root)
	u.used.mu.Lock()
	defer u.used.mu.Unlock()
	if u.used.measuring = false; err == nil {
		u.used.disk, u.used.added, u.used.measured = n, u.used.added-before, began
	}
}

// diskUsage returns the bytes of the regular files below dir. It follows no links,
// and leaves out what cannot be read.
func diskUsage(ctx context.Context, dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ctx.Err()
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return ctx.Err()
	})
	return n, err
}
