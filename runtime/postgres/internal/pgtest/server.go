// Package pgtest starts servers of Postgres for tests, on loopback and in temporary folders.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Server is a server of Postgres.
type Server struct {
	port   int
	folder string
	as     *syscall.Credential // nil for the user of the test
	bin    string
	run    *exec.Cmd
	log    bytes.Buffer
	made   int // databases
}

// ErrMissing says that something is not installed.
var ErrMissing = errors.New("not installed")

// binaries returns the folder of the newest installed version.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("%w: apt-get install postgresql (initdb is looked for in PATH and in /usr/lib/postgresql/*/bin)", ErrMissing)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

// credential returns another user, if this one is root, which Postgres does not run as.
func credential() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("there is no user postgres or nobody to run Postgres as")
}

// Start makes and starts a server. The caller ends it with Close.
func Start() (s *Server, err error) {
	s = &Server{}
	if s.bin, err = binaries(); err != nil {
		return nil, err
	}
	if s.as, err = credential(); err != nil {
		return nil, err
	}
	if s.folder, err = os.MkdirTemp("", "busgen-postgres-"); err != nil {
		return nil, err
	}
	if s.as != nil {
		if err := os.Chown(s.folder, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return nil, err
		}
	}
	if s.port, err = FreePort(); err != nil {
		return nil, err
	}
	if out, err := s.command("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, s.Restart()
}

// FreePort returns a port of loopback that nothing listens on.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *Server) data() string { return filepath.Join(s.folder, "data") }

// command returns a command of Postgres.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir = s.folder
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Pdeathsig: syscall.SIGQUIT}
	return c
}

// Restart starts a server that was killed. Only commits write its log to the disk, so a test sees code that does not
// wait for that.
func (s *Server) Restart() error {
	s.run = s.command("postgres", "-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.folder, "-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=200", "-c", "wal_writer_delay=10s", "-c", "wal_writer_flush_after=0", "-c", "shared_buffers=32MB", "-c", "log_min_messages=fatal")
	s.log.Reset()
	s.run.Stdout, s.run.Stderr = &s.log, &s.log
	if err := s.run.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(context.Background(), s.URL("postgres"))
		if err == nil {
			return conn.Close(context.Background())
		}
		if time.Now().After(end) {
			return fmt.Errorf("Postgres does not start: %w: %s", err, s.log.String())
		}
	}
}

// Kill ends the server as a crash does.
func (s *Server) Kill() error {
	if err := s.run.Process.Signal(syscall.SIGQUIT); err != nil { // immediate shutdown
		return err
	}
	s.run.Wait()
	return nil
}

// Close ends the server and deletes its files.
func (s *Server) Close() error {
	return errors.Join(s.Kill(), os.RemoveAll(s.folder))
}

// URL returns the address of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// Database makes an empty database and returns its address.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	mutex.Lock()
	s.made++
	name := fmt.Sprintf("test%d", s.made)
	mutex.Unlock()
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return s.URL(name)
}

var mutex sync.Mutex

// Pool opens a pool of connections, which is closed when the test ends.
func Pool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 40
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// pgbouncer returns the path of the pooler.
func pgbouncer() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: apt-get install pgbouncer", ErrMissing)
}

// Pooler starts pgbouncer in transaction mode before a server, and returns the address of the same database behind it.
// It ends with the test.
func (s *Server) Pooler(t testing.TB, url string) (string, error) {
	t.Helper()
	path, err := pgbouncer()
	if err != nil {
		return "", err
	}
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	users, settings := filepath.Join(s.folder, "users"+strconv.Itoa(port)), filepath.Join(s.folder, "pgbouncer"+strconv.Itoa(port))
	text := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = trust\nauth_file = %s\npool_mode = transaction\ndefault_pool_size = 8\n", s.port, port, users)
	for name, content := range map[string]string{users: "\"postgres\" \"\"\n", settings: text} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command(path, "-q", settings)
	run.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Pdeathsig: syscall.SIGKILL}
	var log bytes.Buffer
	run.Stdout, run.Stderr = &log, &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Process.Kill(); run.Wait() })
	behind := strings.Replace(url, fmt.Sprintf(":%d/", s.port), fmt.Sprintf(":%d/", port), 1)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		config, _ := pgx.ParseConfig(behind)
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err == nil {
			conn.Close(t.Context())
			return behind + "&default_query_exec_mode=exec", nil
		}
		if time.Now().After(end) {
			t.Fatalf("pgbouncer does not start: %v: %s", err, log.String())
		}
	}
}
