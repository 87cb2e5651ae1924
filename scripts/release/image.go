package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// debian is the version of Debian in the images.
const debian = "bookworm"

// inImages are the packages of Debian in each image, beside the least that there can be.
var inImages = map[string][]string{
	"small": {"bash", "bubblewrap", "ca-certificates", "git", "python3"},
	"full":  {"bash", "bubblewrap", "ca-certificates", "chromium", "fonts-dejavu-core", "git", "python3", "python3-matplotlib"},
}

// image writes a container image, as docker load and podman load read it: a layer of Debian, and one of
// our own.
func (r *releaser) image(ctx context.Context, work, kind string, program []byte) error {
	if program == nil {
		return fmt.Errorf("images are for linux/amd64, which is not among the targets: -images none")
	}
	base := filepath.Join(work, kind+".tar")
	args := []string{"--variant=minbase", "--include=" + strings.Join(inImages[kind], ","),
		`--customize-hook=chroot "$1" useradd --create-home --home-dir /data openmanus && chroot "$1" install -d -o openmanus -g openmanus /data/work`,
		`--customize-hook=rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* "$1"/var/log/*`}
	if r.sources != "" { // which are of the machine that builds, not of those that run the image
		args = append(args, `--customize-hook=rm -f "$1"/etc/apt/sources.list.d/0* "$1"/etc/apt/apt.conf.d/99mmdebstrap`)
	}
	args = append(args, debian, base)
	if r.sources != "" {
		args = append(args, r.sources)
	}
	begin := time.Now()
	if _, err := command(ctx, work, []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix())}, "mmdebstrap", args...); err != nil {
		return fmt.Errorf("the %s image: %w\n-images none makes no images", kind, err)
	}
	files := []entry{{"usr/local/bin/openmanus", 0o755, program}}
	for _, e := range r.extras {
		if e.name == "LICENSE" || strings.HasPrefix(e.name, "THIRD_PARTY") {
			files = append(files, entry{"usr/local/share/doc/openmanus/" + e.name, 0o644, e.data})
		}
	}
	own, err := r.tar(files)
	if err != nil {
		return err
	}
	below, err := tarball.LayerFromFile(base)
	if err != nil {
		return err
	}
	above, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(own)), nil })
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, below, above)
	if err != nil {
		return err
	}
	if img, err = r.configured(img); err != nil {
		return err
	}
	plain := strings.TrimPrefix(r.version, "v")
	tag := plain
	if kind != "small" {
		tag += "-" + kind
	}
	ref, err := name.NewTag("openmanus:" + tag)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := tarball.Write(ref, img, &b); err != nil {
		return err
	}
	fmt.Printf("image %-8s %5.1f MB, %.0f s\n", kind, float64(b.Len())/1e6, time.Since(begin).Seconds())
	return r.write(fmt.Sprintf("openmanus_%s_image_%s_amd64.tar", plain, kind), kindImage, target{"linux", "amd64"}, b.Bytes())
}

// configured says what an image runs, as deploy/Dockerfile does.
func (r *releaser) configured(img v1.Image) (v1.Image, error) {
	c, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Created = "linux", "amd64", v1.Time{Time: r.time}
	c.Config = v1.Config{
		User: "openmanus", WorkingDir: "/data/work",
		Env:          []string{"PATH=/usr/local/bin:/usr/bin:/bin", "XDG_DATA_HOME=/data", "HOME=/data"},
		Entrypoint:   []string{"openmanus"},
		Cmd:          []string{"serve", "--addr", "0.0.0.0:8420"},
		ExposedPorts: map[string]struct{}{"8420/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "OpenManus", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "MIT",
			"org.opencontainers.image.source": "https://github.com/openmanus-go/openmanus",
		},
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "bash", "-c",
			`exec 3<>/dev/tcp/127.0.0.1/8420 && printf 'GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3 && grep -q ' 200 ' <&3`}},
	}
	for i := range c.History {
		c.History[i].Created = v1.Time{Time: r.time}
	}
	return mutate.ConfigFile(img, c)
}
