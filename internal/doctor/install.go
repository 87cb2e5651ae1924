package doctor

// A thing is something to install; its name differs from system to system.
type thing struct {
	name  string
	names map[string]string // by package manager, where it is another one
}

// A manager is a package manager: the program, and how it installs.
type manager struct{ program, install string }

// managers are those known, in the order in which they are looked for.
func managers() []manager {
	return []manager{
		{"apt-get", "apt-get install"}, {"dnf", "dnf install"}, {"pacman", "pacman -S"}, {"apk", "apk add"}, {"zypper", "zypper install"},
		{"brew", "brew install"}, {"winget", "winget install"},
	}
}

// install says how t is installed on this machine.
func (c *checker) install(t thing) string {
	for _, m := range managers() {
		if _, err := c.LookPath(m.program); err != nil {
			continue
		}
		name := t.name
		if n, ok := t.names[m.program]; ok {
			name = n
		}
		if name == "" { // it has no such package
			continue
		}
		return m.install + " " + name
	}
	switch c.GOOS {
	case "darwin":
		return "install " + t.name + ", for instance with Homebrew (https://brew.sh): brew install " + t.name
	case "windows":
		return "install " + t.name
	}
	return "install " + t.name + " with the package manager of this system"
}
