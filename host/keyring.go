package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// A Keyring keeps keys in the system's keyring: the Secret Service, by secret-tool of
// libsecret, or the keychain of macOS, by security. Keys are never arguments of the
// programs, which other users could read.
type Keyring struct {
	program string
}

// keyringPatience is how long a keyring may take, which may ask its user first.
const keyringPatience = time.Minute

// Keyring returns the system's keyring. The second result is false if there is none that
// can be used: on Linux secret-tool and a session bus are needed, on macOS security.
func (e Env) Keyring() (Keyring, bool) {
	name := "secret-tool"
	switch {
	case runtime.GOOS == "darwin":
		name = "security"
	case e.Getenv("DBUS_SESSION_BUS_ADDRESS") == "":
		return Keyring{}, false // no one would answer
	}
	path, err := hostexec.Outside(e.Dir).Look(name)
	return Keyring{path}, err == nil
}

// Get returns the key with the name. A key that is not there is an error. The keyring may
// ask the person to unlock it, for which Get waits.
func (k Keyring) Get(name string) (string, error) {
	args := []string{"lookup", "service", "openmanus", "account", name}
	if runtime.GOOS == "darwin" {
		args = []string{"find-generic-password", "-s", "openmanus", "-a", name, "-w"}
	}
	out, err := k.run("", args...)
	key := strings.TrimRight(out, "\r\n")
	if err == nil && key == "" {
		err = errors.New("it is not there")
	}
	return key, err
}

// Set keeps a key under the name, in place of one that was there. The key travels on
// standard input, where other users of the machine cannot see it.
func (k Keyring) Set(name, key string) error {
	if strings.ContainsAny(key+name, "\"\\\r\n'") {
		return errors.New("the key has characters that the keyring's program does not take")
	}
	if runtime.GOOS == "darwin" {
		_, err := k.run(fmt.Sprintf("add-generic-password -U -s openmanus -a %q -w %q\n", name, key), "-i")
		return err
	}
	_, err := k.run(key, "store", "--label=OpenManus: "+name, "service", "openmanus", "account", name)
	return err
}

// run runs the keyring's program with input, and returns what it prints.
func (k Keyring) run(input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), keyringPatience)
	defer cancel()
	cmd := hostexec.Finder{}.Command(ctx, k.program, args...)
	cmd.Stdin = strings.NewReader(input)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.TrimSpace(cmd.Args[0]+": "+said.String()), err)
	}
	return string(out), nil
}
