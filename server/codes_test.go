package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
)

func TestCodes(t *testing.T) {
	ann, bob := &user{}, &user{}
	now := time.Unix(1_800_000_000, 0)
	var c codes
	first, ends := c.issue(ann, now)
	if late := now.Add(codeTime); !ends.Equal(late) || c.redeem(first, late) != nil || c.redeem(first, now) != nil {
		t.Error("a code is valid after its time, or after it was tried")
	}
	theirs, _ := c.issue(bob, now)
	first, _ = c.issue(ann, now)
	second, _ := c.issue(ann, now)
	for range maxCodes - 1 {
		c.issue(ann, now)
	}
	if c.redeem(first, now) != nil {
		t.Error("the oldest of too many codes is valid")
	}
	if c.redeem("", now) != nil || c.redeem(second, now.Add(codeTime-1)) != ann || c.redeem(theirs, now) != bob || c.redeem(theirs, now) != nil {
		t.Error("codes are not those of their users, once")
	}
	if c.issue(ann, now.Add(codeTime)); len(c.all) != 1 {
		t.Errorf("%d codes are kept that nothing can use", len(c.all)-1)
	}
}

// An approval link is valid for twelve hours, and for the user whose key made it.
func TestApprovalLinks(t *testing.T) {
	all, err := newUsers([]User{{Name: "ann", Token: "ann-0123456789abcdef"}, {Name: "bob", Token: "bob-0123456789abcdef"}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	path := all[1].approvalPath("s", openmanus.Asked{Call: "c0-1", N: 2, Hash: "h"}, now)
	link, ok := strings.CutPrefix(path, "/approve?link=")
	c, u := all.byLink(link)
	if !ok || u != all[1] || *c != (claim{"bob", "s", "c0-1", 2, "h", now.Add(approveTime).Unix()}) {
		t.Fatalf("%s: %+v %v", path, c, u)
	}
	if status, _ := new(Server).approval(t.Context(), c, now.Add(approveTime)); status != http.StatusGone {
		t.Errorf("after its time: %d", status)
	}
	forged := &user{User: User{Name: "ann", Token: all[1].Token}}
	link, _ = strings.CutPrefix(forged.approvalPath("s", openmanus.Asked{Call: "c0-1"}, now), "/approve?link=")
	if c, u := all.byLink(link); c != nil || u != nil {
		t.Errorf("bob's key signs for ann: %+v", c)
	}
}
