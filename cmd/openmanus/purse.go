package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
)

// A dayPurse bounds what all sessions of a data directory spend in a day of
// UTC. It is a file with a line for each request, to which any number of
// processes append.
type dayPurse struct {
	dir   string
	limit openmanus.Money
	now   func() time.Time
}

func (p dayPurse) file() string {
	return filepath.Join(p.dir, "spent-"+p.now().UTC().Format(time.DateOnly))
}

// Empty implements [openmanus.Purse].
func (p dayPurse) Empty(context.Context) error {
	data, err := os.ReadFile(p.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("what was spent today cannot be read: %w", err)
	}
	var spent openmanus.Money
	for line := range strings.Lines(string(data)) {
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return fmt.Errorf("%s is not as it was written: %q", p.file(), line)
		}
		spent += openmanus.Money(n)
	}
	if spent < p.limit {
		return nil
	}
	return fmt.Errorf("reached the budget of the day (%.4f of %.4f USD spent by all sessions): raise run.max_cost_per_day, or come back after midnight UTC", spent.USD(), p.limit.USD())
}

// Spend implements [openmanus.Purse].
func (p dayPurse) Spend(_ context.Context, m openmanus.Money) error {
	f, err := os.OpenFile(p.file(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d\n", m) // one write: lines of several processes do not mix
	return errors.Join(err, f.Close())
}
