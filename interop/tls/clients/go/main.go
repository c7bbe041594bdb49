// The same with go-zookeeper, which supports TLS by a dialer, and no SASL.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"io"
	"net"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

func main() {
	log.SetOutput(io.Discard)
	hosts, path := os.Args[1], os.Args[2]
	patience, _ := strconv.Atoi(os.Args[3])
	dialer := net.DialTimeout
	if len(os.Args) > 4 {
		config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}
		pem, _ := os.ReadFile(os.Args[4])
		config.RootCAs.AppendCertsFromPEM(pem)
		if len(os.Args) > 5 {
			own, err := tls.LoadX509KeyPair(os.Args[5], os.Args[5])
			if err != nil {
				panic(err)
			}
			config.Certificates = []tls.Certificate{own}
		}
		dialer = func(network, address string, timeout time.Duration) (net.Conn, error) {
			return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, network, address, config)
		}
	}
	silent := log.New(io.Discard, "", 0)
	conn, events, err := zk.Connect([]string{hosts}, 10*time.Second, zk.WithDialer(dialer), zk.WithLogger(silent))
	if err != nil {
		panic(err)
	}
	limit := time.After(time.Duration(patience) * time.Millisecond)
	for connected := false; !connected; {
		select {
		case event := <-events:
			connected = event.State == zk.StateHasSession
		case <-limit:
			fmt.Println("refused")
			return
		}
	}
	data := bytes.Repeat([]byte{7}, 700000)
	acl := "none"
	_, err = conn.Create(path, data, 0, zk.AuthACL(zk.PermAll))
	if err == zk.ErrInvalidACL {
		_, err = conn.Create(path, data, 0, zk.WorldACL(zk.PermAll))
	} else if err == nil {
		entries, _, _ := conn.GetACL(path)
		ids := []string{}
		for _, each := range entries {
			ids = append(ids, each.Scheme+":"+each.ID)
		}
		sort.Strings(ids)
		acl = strings.Join(ids, " ")
	}
	if err != nil {
		fmt.Println("refused")
		return
	}
	fmt.Println("acl " + acl)
	read, _, changed, _ := conn.GetW(path)
	fmt.Println("data", bytes.Equal(read, data))
	conn.Set(path, nil, -1)
	select {
	case <-changed:
		fmt.Println("watch true")
	case <-time.After(10 * time.Second):
		fmt.Println("watch false")
	}
	conn.Delete(path, -1)
	conn.Close()
	fmt.Println("closed")
}
