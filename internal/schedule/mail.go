package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
)

const (
	// mailTime is for how long a process has a mail to itself: longer than it takes to send it.
	mailTime = 2 * time.Minute

	// longestMailPause is the most time between two tries.
	longestMailPause = time.Hour

	// mailTries is how often a mail is tried: for a day, with these pauses.
	mailTries = 29
)

// due returns the letters whose next try may begin now.
func (s *State) due(now time.Time) (letters []Letter) {
	for _, l := range s.Letters {
		if !l.Until.After(now) {
			letters = append(letters, l)
		}
	}
	return letters
}

// Post sends the letters of a schedule that are due, once each. The error names those that
// no server of mail has taken so far.
func (r *Runner) Post(ctx context.Context, name string, now time.Time) error {
	s, err := Load(ctx, r.Journal, name)
	if err != nil || r.Mail == nil {
		return err
	}
	var errs []error
	for _, l := range s.Letters {
		if l.Until.After(now) && l.Failed != "" { // its next try is later
			errs = append(errs, untaken(l, l.Failed, false))
		}
	}
	return errors.Join(append(errs, r.post(ctx, name, s.Planned.Plan, s.due(now), now))...)
}

// untaken is the error of a letter.
func untaken(l Letter, why string, givenUp bool) error {
	if givenUp {
		return fmt.Errorf("the mail to %s was not taken: %s", l.Mail, why)
	}
	return fmt.Errorf("the mail to %s was not taken, and will be sent again: %s", l.Mail, why)
}

// post sends letters, each if this process is the one that claims it. The error names those that were not taken.
func (r *Runner) post(ctx context.Context, name string, p Plan, letters []Letter, now time.Time) error {
	var errs []error
	for _, l := range letters {
		pause := min(mailTime<<min(l.Try, 10), longestMailPause)
		_, err := r.Journal.Append(ctx, JournalOf(name), claim(Mailing{Slot: l.Slot, Manual: l.Manual, Try: l.Try, Until: now.Add(pause), By: ids.New()}))
		if errors.Is(err, openmanus.ErrExists) {
			continue // another process sends it
		}
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		mctx, stop := context.WithTimeout(ctx, mailTime/2)
		err = r.Mail(mctx, name, p, l)
		stop()
		if ctx.Err() != nil {
			return ctx.Err() // whether it was taken is not known: it comes again
		}
		m := Mailed{Slot: l.Slot, Manual: l.Manual, Try: l.Try}
		if err != nil {
			no := (*Refused)(nil)
			m.Error, m.GivenUp = cmp.Or(err.Error(), "it was not taken"), errors.As(err, &no) || l.Try+1 >= mailTries
			errs = append(errs, untaken(l, m.Error, m.GivenUp))
		}
		if _, err := r.Journal.Append(ctx, JournalOf(name), receipt(m)); err != nil && !errors.Is(err, openmanus.ErrExists) {
			return errors.Join(append(errs, err)...)
		}
	}
	return errors.Join(errs...)
}
