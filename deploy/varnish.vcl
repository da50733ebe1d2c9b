# Varnish 7 with vmod xkey (Debian: varnish, varnish-modules), between a proxy with TLS and the service. That proxy replaces
# X-Forwarded-For, -Proto and -Host of clients, so nobody else may reach Varnish, and PUBLIC_URL must be set. Of its two
# addresses, `purge` is for the service alone (SERVICE_PURGE_URL=http://127.0.0.1:6082):
#
#   varnishd -F -a http=127.0.0.1:6081 -a purge=127.0.0.1:6082 -f /etc/varnish/varnish.vcl -s malloc,256m -p backend_idle_timeout=5
#
# The service closes connections that are idle for 10 s: a post sent into one at that moment would fail. The name of a feed,
# which stands in addresses, is the key to write to it: run no varnishncsa and no varnishlog.
vcl 4.1;

import std;
import xkey;

backend default {
  .host = "127.0.0.1";
  .port = "3000";
  .connect_timeout = 1s;
  # A service that hangs is given up after two of these.
  .probe = {
    .url = "/health";
    .interval = 2s;
    .timeout = 2s;
    .window = 2;
    .threshold = 1;
  }
}

sub vcl_recv {
  if (local.socket == "purge") {
    if (req.method != "POST") {
      return (synth(405));
    }
    return (synth(200, "Dropped " + xkey.purge(req.http.Cache-Tag)));
  }

  if (req.restarts == 0) {
    # Without the address that Varnish has added: that of the proxy.
    set req.http.X-Forwarded-For = regsub(req.http.X-Forwarded-For, ",[^,]*$", "");
    # stale-while-revalidate
    set req.grace = 30s;
  } else {
    set req.grace = 1h;
  }

  unset req.http.Is-Kept;
  # Passed on, an event would wait here until the next one comes.
  if (req.url ~ "^/(r|api/v1/feeds)/[^/?]+/events/?(\?|$)") {
    return (pipe);
  }
  # What everybody may read is kept, and nothing below the name of a feed.
  if ((req.method != "GET" && req.method != "HEAD") || req.url !~ "^/(r|api/v1/read|static)/") {
    return (pass);
  }
  set req.http.Is-Kept = req.restarts;
  # The answers depend on neither.
  unset req.http.Cookie;
  unset req.http.Authorization;
  return (hash);
}

sub vcl_backend_response {
  if (bereq.uncacheable && !bereq.http.Is-Kept) {
    return (deliver);
  }
  # An error takes the place of nothing: where it was delivered, what is stale would be dropped.
  if (beresp.status >= 500) {
    if (bereq.is_bgfetch) {
      return (abandon);
    }
    if (bereq.http.Is-Kept == "0") {
      return (error(503));
    }
    set beresp.ttl = 0s;
    set beresp.grace = 0s;
    set beresp.uncacheable = true;
    return (deliver);
  }
  # stale-if-error: an answer without it is never shown stale.
  set beresp.grace = std.duration(regsub(beresp.http.Cache-Control, "^.*stale-if-error=(\d+).*$", "\1s"), 0s);
  # What is stale is asked for with its ETag.
  set beresp.keep = 1h;
  set beresp.http.xkey = beresp.http.Cache-Tag;
  unset beresp.http.X-Request-Id;
}

# As errors of the service look.
sub vcl_backend_error {
  set beresp.http.Cache-Control = "no-store";
  set beresp.http.Vary = "Accept";
  set beresp.http.Sentence = "The service does not answer. What you sent may be stored all the same.";
  if (bereq.method == "GET" || bereq.method == "HEAD") {
    set beresp.http.Sentence = "The service does not answer. Try again in a moment.";
  }
  if (bereq.http.Accept ~ "text/html") {
    set beresp.http.Content-Type = "text/html; charset=utf-8";
    set beresp.body = {"<!doctype html><html lang="en"><title>This did not work</title><h1>This did not work</h1><p>"}
      + beresp.http.Sentence + "</p></html>";
  } else {
    set beresp.http.Content-Type = "application/json";
    set beresp.body = {"{"error":""} + beresp.http.Sentence + {"","code":"store_unavailable""} + "}";
  }
  unset beresp.http.Sentence;
  return (deliver);
}

sub vcl_deliver {
  # Once more, for what is stale but may be shown where the service fails.
  if (resp.status >= 500 && req.http.Is-Kept && req.restarts == 0) {
    return (restart);
  }
  unset resp.http.xkey;
  unset resp.http.Cache-Tag;
  unset resp.http.X-Varnish;
  unset resp.http.Via;
}
