package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// A dayBudget bounds what all sessions of a data directory spend in a day of
// UTC. It is a file to which any number of processes append: a line with the
// estimated cost of each request when it is made, and one with the difference
// to its real cost when it has been answered. Amounts are in billionths of a US
// dollar. If midnight lies between the two lines, they count for two days.
type dayBudget struct {
	dir   string
	limit openmanus.Money
	now   func() time.Time
}

func (p dayBudget) file() string {
	return filepath.Join(p.dir, "spent-"+p.now().UTC().Format(time.DateOnly))
}

// Reserve implements [run.Budget]. It appends its line first and then adds up
// the lines before it, so that of two processes that reserve at the same time
// one sees the other's line.
func (p dayBudget) Reserve(_ context.Context, about openmanus.Money) error {
	end, err := p.add(about)
	if err != nil {
		return fmt.Errorf("the budget of the day cannot be recorded: %w", err)
	}
	spent, err := p.spent(end)
	if err != nil {
		return err
	}
	if spent <= p.limit {
		return nil
	}
	_, err = p.add(-about)
	return errors.Join(overDay(spent-about, about, p.limit), err)
}

// overDay says that a request would pass the budget of the day.
func overDay(spent, about, limit openmanus.Money) error {
	return fmt.Errorf("the next request would pass the budget of the day, which is of all sessions (Current: %.4f, Needed: %.4f, Max: %.4f USD): "+
		"raise run.max_cost_per_day, or come back after midnight UTC", spent.USD(), about.USD(), limit.USD())
}

// A sharedBudget is a dayBudget of all processes that share a store.
type sharedBudget struct {
	purse journal.Purse
	limit openmanus.Money
	now   func() time.Time
}

func (p sharedBudget) name() string { return "day " + p.now().UTC().Format(time.DateOnly) }

// Reserve implements [run.Budget].
func (p sharedBudget) Reserve(ctx context.Context, about openmanus.Money) error {
	spent, ok, err := p.purse.Spend(ctx, p.name(), about, p.limit)
	if err != nil {
		return fmt.Errorf("the budget of the day cannot be recorded: %w", err)
	}
	if !ok {
		return overDay(spent, about, p.limit)
	}
	return nil
}

// Settle implements [run.Budget].
func (p sharedBudget) Settle(ctx context.Context, reserved, cost openmanus.Money) error {
	_, _, err := p.purse.Spend(ctx, p.name(), cost-reserved, -1)
	return err
}

// Settle implements [run.Budget].
func (p dayBudget) Settle(_ context.Context, reserved, cost openmanus.Money) error {
	_, err := p.add(cost - reserved)
	return err
}

// add appends a line and returns the offset of its end.
func (p dayBudget) add(m openmanus.Money) (int64, error) {
	f, err := os.OpenFile(p.file(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(f, "%d\n", m) // one write: lines of several processes do not mix
	end, seekErr := f.Seek(0, io.SeekCurrent)
	return end, errors.Join(err, seekErr, f.Close())
}

// spent adds up the lines before the offset end.
func (p dayBudget) spent(end int64) (spent openmanus.Money, err error) {
	data, err := os.ReadFile(p.file())
	if errors.Is(err, fs.ErrNotExist) { // midnight has just passed
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the budget of the day cannot be read: %w", err)
	}
	for line := range strings.Lines(string(data[:min(end, int64(len(data)))])) {
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s is damaged: %q is not an amount", p.file(), line)
		}
		spent += openmanus.Money(n)
	}
	return spent, nil
}
