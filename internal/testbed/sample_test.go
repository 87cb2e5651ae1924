package testbed

import "testing"

func TestEachSeedDrawsItsOwnCases(t *testing.T) {
	drawn := map[string]bool{}
	for _, seed := range []string{"", "1", "2", "a commit", "another commit"} {
		t.Setenv("SEED", seed)
		n, sample := 0, ""
		for i := range 100 {
			if Drawn(i, 10) {
				n, sample = n+1, sample+string(rune('A'+i))
			}
		}
		if n != 10 {
			t.Errorf("seed %q draws %d of 100 cases, not 10", seed, n)
		}
		drawn[sample] = true
	}
	if len(drawn) < 3 {
		t.Errorf("five seeds draw %d samples", len(drawn))
	}
	t.Setenv("SEED", "18446744073709551615")
	if Seed() != 1<<64-1 {
		t.Error("a number is not itself")
	}
}
