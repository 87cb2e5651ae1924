// Fill puts sessions into a store, as an agent leaves them that did its work,
// to see how everything fares that reads many of them, or a long one.
//
//	go run ./cmd/fill -dir DATA -sessions 10000 -steps 5
//	go run ./cmd/fill -dir DATA -name long -steps 2500
//	go run ./cmd/fill -dir DATA -name live -steps 250 -rate 100
package main

import (
	"bufio"
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
	rate := flag.Int("rate", 0, "one session, whose steps after the first begin with a line on standard input, with so many events a second; -1: all at once")
	flag.Parse()
	err := error(nil)
	if *rate != 0 {
		err = live(*dir, *name, *owner, *steps, *rate)
	} else {
		err = fill(*dir, *name, *owner, *sessions, *steps)
	}
	if err != nil {
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

func live(dir, name, owner string, steps, rate int) error {
	db, err := store.Open(dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return filled.Live(context.Background(), db, name, owner, steps, rate, func() error {
		fmt.Println("ready")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	})
}
