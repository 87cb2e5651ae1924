package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/run"
)

// A dayBudget bounds what sessions spend in a day of UTC: all of them together, and those of
// each user. If midnight lies between a request and its reply, they count for two days.
type dayBudget struct {
	purse journal.Purse
	all   openmanus.Money         // 0: no limit
	users map[string]*config.User // nil values are of users without limits
	now   func() time.Time
}

// newDayBudget returns the budget of a configuration, or nil if it has none. The purse is that
// of the store, if it has one, and otherwise that of the data directory.
func newDayBudget(cfg *config.Config, store any) run.Budget {
	limited := cfg.Run.DayCost > 0
	for _, u := range cfg.Users {
		limited = limited || u.DayCost > 0 || u.DayTokens > 0
	}
	if !limited {
		return nil
	}
	purse, ok := store.(journal.Purse)
	if !ok {
		purse = filePurse{cfg.DataDir}
	}
	return dayBudget{purse: purse, all: cfg.Run.DayCost, users: cfg.Users, now: time.Now}
}

// A share is what a request takes of one limit.
type share struct {
	name          string // of the purse
	amount, limit int64
	over          func(spent int64) error // says that the limit is reached
}

// shares returns what a request takes of each limit that holds for it.
func (p dayBudget) shares(s run.Spending) (all []share) {
	day := p.now().UTC().Format(time.DateOnly)
	if p.all > 0 {
		all = append(all, share{"day " + day, int64(s.Cost), int64(p.all), func(spent int64) error {
			return overDay("which is of all sessions", "raise run.max_cost_per_day", spent, s.Cost, p.all)
		}})
	}
	u := p.users[s.Owner]
	if u == nil {
		return all
	}
	of, raise := "which is of all sessions of "+s.Owner, "raise users."+s.Owner+".max_"
	if u.DayCost > 0 {
		all = append(all, share{"day " + day + " of " + s.Owner, int64(s.Cost), int64(u.DayCost), func(spent int64) error {
			return overDay(of, raise+"cost_per_day", spent, s.Cost, u.DayCost)
		}})
	}
	if u.DayTokens > 0 {
		all = append(all, share{"tokens " + day + " of " + s.Owner, int64(s.Tokens), int64(u.DayTokens), func(spent int64) error {
			return fmt.Errorf("the next request would pass the tokens of the day, %s (Current: %d, Needed: %d, Max: %d): "+
				"%stokens_per_day, or come back after midnight UTC: %w", of, spent, s.Tokens, u.DayTokens, raise, run.ErrNoTokens)
		}})
	}
	return all
}

// overDay says that a request would pass the budget of the day.
func overDay(of, raise string, spent int64, about, limit openmanus.Money) error {
	return fmt.Errorf("the next request would pass the budget of the day, %s (Current: %.4f, Needed: %.4f, Max: %.4f USD): "+
		"%s, or come back after midnight UTC", of, openmanus.Money(spent).USD(), about.USD(), limit.USD(), raise)
}

// Reserve implements [run.Budget]. It takes the estimate from every limit that applies:
// that of all sessions, and those of the user. If one of them is exhausted, it gives back
// what it has taken from the others, and the error says which limit it was and when it
// ends.
func (p dayBudget) Reserve(ctx context.Context, about run.Spending) error {
	all := p.shares(about)
	for i, s := range all {
		spent, ok, err := p.purse.Spend(ctx, s.name, s.amount, s.limit)
		switch {
		case err != nil:
			err = fmt.Errorf("the budget of the day cannot be recorded: %w", err)
		case !ok:
			err = s.over(spent)
		}
		if err != nil {
			return errors.Join(append([]error{err}, p.giveBack(ctx, all[:i])...)...)
		}
	}
	return nil
}

// giveBack returns what was reserved.
func (p dayBudget) giveBack(ctx context.Context, shares []share) (errs []error) {
	for _, s := range shares {
		_, _, err := p.purse.Spend(ctx, s.name, -s.amount, -1)
		errs = append(errs, err)
	}
	return errs
}

// Settle implements [run.Budget]. It replaces the estimate by the real amount, which may
// be more: then the limit is passed once, and the next Reserve fails.
func (p dayBudget) Settle(ctx context.Context, about, spent run.Spending) error {
	spent.Cost, spent.Tokens = spent.Cost-about.Cost, spent.Tokens-about.Tokens
	for _, s := range p.shares(spent) {
		if _, _, err := p.purse.Spend(ctx, s.name, s.amount, -1); err != nil {
			return err
		}
	}
	return nil
}

// A filePurse is the [journal.Purse] of a data directory. The amounts spent under a name
// are in a file, to which any number of processes append: a line for each amount.
type filePurse struct{ dir string }

func (p filePurse) file(name string) string {
	return filepath.Join(p.dir, "spent-"+url.PathEscape(strings.TrimPrefix(name, "day ")))
}

// Spend implements [journal.Purse]. It appends its line first and then adds up the lines
// before it, so that of two processes that spend at the same time one sees the other's line.
func (p filePurse) Spend(_ context.Context, name string, amount, most int64) (spent int64, ok bool, err error) {
	end, err := p.add(name, amount)
	if err != nil {
		return 0, false, err
	}
	if spent, err = p.spent(name, end); err != nil || most < 0 || spent <= most {
		return spent, err == nil, err
	}
	_, err = p.add(name, -amount)
	return spent - amount, false, err
}

// add appends a line and returns the offset of its end.
func (p filePurse) add(name string, amount int64) (int64, error) {
	f, err := os.OpenFile(p.file(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(f, "%d\n", amount) // one write: lines of several processes do not mix
	end, seekErr := f.Seek(0, io.SeekCurrent)
	return end, errors.Join(err, seekErr, f.Close())
}

// spent adds up the lines before the offset end.
func (p filePurse) spent(name string, end int64) (spent int64, err error) {
	data, err := os.ReadFile(p.file(name))
	if errors.Is(err, fs.ErrNotExist) { // another process deleted the file after the line was written
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data[:min(end, int64(len(data)))])) {
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s is damaged: %q is not an amount", p.file(name), line)
		}
		spent += n
	}
	return spent, nil
}
