// Fill puts sessions into a store, as an agent leaves them that did its work,
// to see how everything fares that reads many of them, or a long one.
//
//	go run ./cmd/fill -dir DATA -sessions 10000 -steps 5
//	go run ./cmd/fill -dir DATA -name long -steps 2500
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/openmanus-go/openmanus/bench/filled"
	"github.com/openmanus-go/openmanus/store"
)

func main() {
	dir := flag.String("dir", "", "the data directory, made if it is not there")
	name := flag.String("name", "filled", "what the ids of the sessions begin with")
	sessions := flag.Int("sessions", 1, "how many sessions")
	steps := flag.Int("steps", 5, "how many calls each has made, of four events")
	owner := flag.String("owner", "local", "the user of a server whose sessions they are")
	flag.Parse()
	if err := fill(*dir, *name, *owner, *sessions, *steps); err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}

func fill(dir, name, owner string, sessions, steps int) error {
	db, err := store.Open(dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	for i := range sessions {
		if err := filled.Session(context.Background(), db, fmt.Sprintf("%s-%d", name, i), owner, i, steps); err != nil {
			return err
		}
	}
	return nil
}
