package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	published "github.com/openmanus-go/openmanus/internal/release"
)

const (
	home     = "https://github.com/openmanus-go/openmanus"
	sentence = "General AI agent that runs on your own machine"
)

//go:embed install.sh
var installScript string

// channels writes the files of package managers that fetch archives, and the script that installs one.
// Each names the archives of this release with their checksums.
func (r *releaser) channels() error {
	plain := strings.TrimPrefix(r.version, "v")
	write := func(name string, kind published.Kind, text string) error {
		return r.write(name, kind, target{}, []byte(text))
	}
	scoop, err := json.MarshalIndent(r.scoop(plain), "", "    ")
	if err != nil {
		return err
	}
	for _, f := range []struct{ name, text string }{
		{"openmanus.rb", r.homebrew(plain)},
		{"openmanus.scoop.json", string(scoop) + "\n"},
		{"PKGBUILD", r.pkgbuild(plain)},
		{"PKGBUILD.SRCINFO", r.srcinfo(plain)},
		{"openmanus.winget.yaml", r.winget(plain, "version", "DefaultLocale: en-US\n")},
		{"openmanus.winget.installer.yaml", r.winget(plain, "installer", r.wingetInstallers())},
		{"openmanus.winget.locale.en-US.yaml", r.winget(plain, "defaultLocale", fmt.Sprintf(
			"PackageLocale: en-US\nPublisher: OpenManus\nPackageName: OpenManus\nPackageUrl: %s\nLicense: MIT\nShortDescription: %s\n", home, sentence))},
	} {
		if err := write(f.name, kindChannel, f.text); err != nil {
			return err
		}
	}
	script := strings.NewReplacer("@VERSION@", r.version, "@PLAIN@", plain, "@KEYS@", strings.TrimSpace(r.keys), "@NAMESPACE@", published.Namespace, "@HOME@", home).Replace(installScript)
	return write("install.sh", kindScript, script)
}

// archives returns the archives, by system: those of the targets that were built.
func (r *releaser) archives() map[target]published.File {
	all := make(map[target]published.File)
	for _, f := range r.manifest.Files {
		if f.Kind == published.Archive {
			all[target{f.OS, f.Arch}] = f
		}
	}
	return all
}

func (r *releaser) address(f published.File) string {
	return home + "/releases/download/" + r.version + "/" + f.Name
}

func (r *releaser) homebrew(plain string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "class Openmanus < Formula\n  desc %q\n  homepage %q\n  version %q\n  license \"MIT\"\n", sentence, home, plain)
	for _, system := range []struct{ os, block string }{{"darwin", "on_macos"}, {"linux", "on_linux"}} {
		fmt.Fprintf(&b, "\n  %s do\n", system.block)
		for _, arch := range []struct{ name, block string }{{"amd64", "on_intel"}, {"arm64", "on_arm"}} {
			if f, ok := r.archives()[target{system.os, arch.name}]; ok {
				fmt.Fprintf(&b, "    %s do\n      url %q\n      sha256 %q\n    end\n", arch.block, r.address(f), f.SHA256)
			}
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "openmanus"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/openmanus.bash" => "openmanus"
    zsh_completion.install "completions/_openmanus"
    fish_completion.install "completions/openmanus.fish"
    (lib/"openmanus/package").write "brew\n"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/openmanus version")
  end
end
`)
	return b.String()
}

func (r *releaser) scoop(plain string) map[string]any {
	systems := make(map[string]any)
	for name, arch := range map[string]string{"64bit": "amd64", "arm64": "arm64"} {
		t := target{"windows", arch}
		if f, ok := r.archives()[t]; ok {
			systems[name] = map[string]string{"url": r.address(f), "hash": f.SHA256, "extract_dir": r.named(t)}
		}
	}
	return map[string]any{
		"version": plain, "description": sentence, "homepage": home, "license": "MIT", "architecture": systems, "bin": "openmanus.exe",
	}
}

// aur says which architectures the Arch User Repository gets, as Arch names them.
var aur = []struct{ arch, name string }{{"amd64", "x86_64"}, {"arm64", "aarch64"}}

func (r *releaser) pkgbuild(plain string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `pkgname=openmanus-bin
pkgver=%s
pkgrel=1
pkgdesc='%s'
arch=(x86_64 aarch64)
url='%s'
license=(MIT)
provides=(openmanus)
conflicts=(openmanus)
depends=(bubblewrap git)
optdepends=('chromium: the browser tools' 'python-matplotlib: charts of programs')
`, plain, sentence, home)
	for _, a := range aur {
		if f, ok := r.archives()[target{"linux", a.arch}]; ok {
			fmt.Fprintf(&b, "source_%s=('%s')\nsha256sums_%s=('%s')\n", a.name, r.address(f), a.name, f.SHA256)
		}
	}
	b.WriteString(`
package() {
	cd openmanus_*/
	install -Dm755 openmanus "$pkgdir/usr/bin/openmanus"
	install -Dm644 -t "$pkgdir/usr/share/man/man1" man/man1/*.1
	install -Dm644 completions/openmanus.bash "$pkgdir/usr/share/bash-completion/completions/openmanus"
	install -Dm644 completions/_openmanus "$pkgdir/usr/share/zsh/site-functions/_openmanus"
	install -Dm644 completions/openmanus.fish "$pkgdir/usr/share/fish/vendor_completions.d/openmanus.fish"
	install -Dm644 -t "$pkgdir/usr/share/licenses/openmanus-bin" LICENSE THIRD_PARTY_LICENSES.txt
	install -d "$pkgdir/usr/lib/openmanus"
	echo pacman >"$pkgdir/usr/lib/openmanus/package"
}
`)
	return b.String()
}

func (r *releaser) srcinfo(plain string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pkgbase = openmanus-bin\n\tpkgdesc = %s\n\tpkgver = %s\n\tpkgrel = 1\n\turl = %s\n\tarch = x86_64\n\tarch = aarch64\n\tlicense = MIT\n", sentence, plain, home)
	b.WriteString("\tdepends = bubblewrap\n\tdepends = git\n\toptdepends = chromium: the browser tools\n\toptdepends = python-matplotlib: charts of programs\n\tprovides = openmanus\n\tconflicts = openmanus\n")
	for _, a := range aur {
		if f, ok := r.archives()[target{"linux", a.arch}]; ok {
			fmt.Fprintf(&b, "\tsource_%s = %s\n\tsha256sums_%s = %s\n", a.name, r.address(f), a.name, f.SHA256)
		}
	}
	b.WriteString("\npkgname = openmanus-bin\n")
	return b.String()
}

// winget returns one of the three manifests of winget, in version 1.6 of their schema.
func (r *releaser) winget(plain, kind, more string) string {
	return fmt.Sprintf("# yaml-language-server: $schema=https://aka.ms/winget-manifest.%s.1.6.0.schema.json\nPackageIdentifier: OpenManus.OpenManus\nPackageVersion: %s\n%sManifestType: %s\nManifestVersion: 1.6.0\n",
		kind, plain, more, kind)
}

func (r *releaser) wingetInstallers() string {
	var b strings.Builder
	b.WriteString("InstallerType: zip\nNestedInstallerType: portable\nInstallers:\n")
	for _, a := range []struct{ arch, name string }{{"amd64", "x64"}, {"arm64", "arm64"}} {
		t := target{"windows", a.arch}
		if f, ok := r.archives()[t]; ok {
			fmt.Fprintf(&b, "- Architecture: %s\n  NestedInstallerFiles:\n  - RelativeFilePath: %s\\openmanus.exe\n    PortableCommandAlias: openmanus\n  InstallerUrl: %s\n  InstallerSha256: %s\n",
				a.name, r.named(t), r.address(f), strings.ToUpper(f.SHA256))
		}
	}
	return b.String()
}
