package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

var answers = bufio.NewReader(os.Stdin)

// failure ends a check from however deep; check catches it.
type failure string

func fail(format string, args ...any) {
	place := ""
	for depth := 1; depth < 8; depth++ {
		_, file, line, ok := runtime.Caller(depth)
		if ok && filepath.Base(file) == "main.go" {
			place = fmt.Sprintf("main.go:%d ", line)
			break
		}
	}
	panic(failure(place + fmt.Sprintf(format, args...)))
}

// check runs one check and reports it; a failed one never stops those after it.
func check(name string, body func()) {
	defer func() {
		if reason := recover(); reason != nil {
			fmt.Println("FAIL", name, strings.ReplaceAll(fmt.Sprint(reason), "\n", " "))
			return
		}
		fmt.Println("ok", name)
	}()
	body()
}

func absent(name, why string) {
	fmt.Println("absent", name, why)
}

// ask has the harness do what only it can do.
func ask(what string) {
	fmt.Println("ask", what)
	answer, err := answers.ReadString('\n')
	if err != nil || answer != "done\n" {
		fail("the harness answered: %s %v", strings.TrimSpace(answer), err)
	}
}

func need(holds bool, format string, args ...any) {
	if !holds {
		fail(format, args...)
	}
}

func same[T comparable](wanted, got T, what string) {
	need(wanted == got, "%s: wanted %v, got %v", what, wanted, got)
}

func refused(wanted, got error) {
	need(errors.Is(got, wanted), "wanted %v, got %v", wanted, got)
}

// must returns the first of a call's results, all of which went well.
func must[T any](value T, err error) T {
	if err != nil {
		fail("%v", err)
	}
	return value
}

func fine(err error) {
	if err != nil {
		fail("%v", err)
	}
}

// open returns a connected session and the channel of what happens to it.
func open(server string, timeout time.Duration) (*zk.Conn, <-chan zk.Event) {
	conn, events, err := zk.Connect([]string{server}, timeout, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	fine(err)
	await(events, zk.StateHasSession, 10*time.Second)
	return conn, events
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func await(events <-chan zk.Event, state zk.State, patience time.Duration) {
	timer := time.After(patience)
	for {
		select {
		case event := <-events:
			if event.State == state {
				return
			}
		case <-timer:
			fail("not %v within %v", state, patience)
		}
	}
}

func expect(ear <-chan zk.Event, kind zk.EventType, path string, patience time.Duration) {
	select {
	case event := <-ear:
		same(fmt.Sprint(kind, " ", path), fmt.Sprint(event.Type, " ", event.Path), "event")
	case <-time.After(patience):
		fail("no event within %v, wanted %v %s", patience, kind, path)
	}
}

// patiently repeats a call while there is no connection.
func patiently[T any](call func() (T, error)) T {
	deadline := time.Now().Add(15 * time.Second)
	for {
		value, err := call()
		lost := errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
		if !lost || time.Now().After(deadline) {
			return must(value, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
