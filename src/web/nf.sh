#!/bin/sh
# nf: posts notes to feeds of a Note Feed instance, reads, changes and follows them. Needs a POSIX shell and curl.
#
# The name of a feed is the key to write to it. So names and passwords are arguments of no program, in no variable that
# programs inherit, and in files that only their owner reads. In some shells (mksh, sh of OpenBSD) printf is a program, so it gets
# no secret, and nothing that a note says but an --alt, which is an argument of nf itself: that goes into here-documents.
set -u
umask 077
# A variable that the caller exported would stay exported with its new value. With CDPATH, cd prints.
unset -v name password bearer its_name its_password its_bearer api note answer line config CDPATH

base='@BASE@'
version='@VERSION@'
tab=$(printf '\t')
folder=${XDG_CONFIG_HOME:-${HOME:?}/.config}/note-feed
feeds=$folder/feeds

help() {
  cat <<END
nf $version: notes of $base

  nf login WORD                     asks for the name of a feed and for passwords, and remembers them as WORD
  nf feeds                          lists what is remembered
  nf forget WORD

  nf post [FILE...]                 posts a text, pictures or both; without a FILE, the text of standard input
     --title TEXT  --tag TAG  --expires 12h  --key KEY (the same post again makes no second note)
     --alt TEXT                     alternative text: the first is that of the first picture, and so on
  nf list                           --tag TAG  --from DATE  --to DATE  --limit N  --before PLACE
  nf search WORDS...                with the options of list; -- before a word that begins with -
  nf get ID                         writes the text or the picture
  nf edit ID [FILE]                 opens a text in \$EDITOR, or replaces the note by the file
  nf delete ID...                   asks first on a terminal, unless --yes is there
  nf tail                           shows notes as they are posted, edited and deleted
  nf export FILE.zip                everything in the feed; into standard output if FILE.zip is -

  -f WORD      the feed, if several are remembered
  --password   asks for the password of the feed instead of using the remembered one
  --json       prints what the service answered
  --version, --help

Remembered feeds are in $feeds
Exit status: 0 done, 1 refused, 2 wrong arguments, 69 not reachable
END
}

# put TEXT: a line.
put() {
  cat <<END
$1
END
}

say() {
  put "nf: $*" >&2
}

wrong() {
  say "$1"
  exit 2
}

# 128 random bits in hexadecimal digits.
random() {
  od -An -v -tx1 -N16 /dev/urandom | tr -d ' \n'
}

# ---- leaving ----

# The folder of temporary files; the process id of the background program; the settings of the terminal while it hides typing.
work='' child='' echoing=''
# The file of a text that the service has not stored yet; a file that is not complete yet.
written='' partial=''

leave() {
  [ -z "$child" ] || { kill "$child" && wait "$child"; } 2>/dev/null
  [ -z "$echoing" ] || stty "$echoing" </dev/tty
  keep_written
  [ -z "$partial" ] || rm -f "$partial"
  [ -z "$work" ] || rm -rf "$work"
}

keep_written() {
  [ -n "$written" ] || return 0
  ! cmp -s "$written" "$work/before" || return 0
  kept=$folder/unsent-$(random).md
  if mkdir -p "$folder" && cp "$written" "$kept"; then
    say "Your text is kept in $kept"
  else
    rm -f "$kept"
    say "Your text is still in $written"
    # The other files hold names and passwords.
    rm -f "$work/config" "$work/feeds" "$work/head" "$work/answer" "$work/body"
    work=''
  fi
}

# With `exit` alone, mksh would end with the status of the trap of EXIT.
stop() {
  trap - EXIT
  leave
  exit "$1"
}

trap leave EXIT
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 141' PIPE
trap 'stop 143' TERM

make_work() {
  work=${TMPDIR:-/tmp}/nf-$(random)
  mkdir "$work" || {
    work=''
    exit 1
  }
}

# Waits for the program that was started last, and sets code to its exit status. The program runs in the background, because
# only then the shell handles a signal at once.
wait_for_child() {
  child=$!
  wait "$child"
  code=$?
  child=''
}

# ---- JSON ----

# Reads JSON, also several values one after another. It calls found(path, text) for each text, number, true, false and null with
# a path such as ".notes.title", and at the end of each object with a path such as ".notes{}". The record separator is the
# quotation mark, so every second record is in a text, and long texts cost little. The text at the path `raw` is printed byte for
# byte instead; all other members "content" are skipped, because they may be long.
# shellcheck disable=SC2016 # It is awk.
reader='
BEGIN { RS = "\""; raw = "nothing" }
!quoted {
  structure($0)
  quoted = 1
  text = ""
  printing = !naming && here() == raw
  skipping = !naming && !printing && here() ~ /\.content$/
  next
}
{
  marks = 0
  for (size = length($0); marks < size && substr($0, size - marks, 1) == "\\"; marks++);
  if (!skipping) decode(marks % 2 ? substr($0, 1, size - 1) : $0)
  if (marks % 2) { out("\""); next }
  quoted = 0
  if (naming) key[depth] = text
  else if (!printing && !skipping) found(here(), text)
}
function here() { return kind[depth] == "{" ? at[depth] "." key[depth] : at[depth] }
function structure(s,   i, c) {
  for (i = 1; i <= length(s); i++) {
    c = substr(s, i, 1)
    if (c == "{" || c == "[") {
      at[depth + 1] = here()
      kind[++depth] = c
      naming = c == "{"
    } else if (c ~ /[][}{:, \t\r\n]/) {
      if (token != "") found(here(), token)
      token = ""
      if (c == ",") naming = kind[depth] == "{"
      if (c == ":") naming = 0
      if (c == "}" || c == "]") depth--
      if (c == "}") found(at[depth + 1] "{}", "")
    } else token = token c
  }
}
function out(s) { if (printing) printf "%s", s; else if (!skipping) text = text s }
function decode(s,   n, i, p, c, v) {
  n = split(s, p, "\\")
  if (n) out(p[1])
  for (i = 2; i <= n; i++) {
    c = substr(p[i], 1, 1)
    if (p[i] == "") { out("\\"); out(p[++i]) }
    else if (c == "u") {
      v = hex(substr(p[i], 2, 4))
      if (v >= 55296 && v < 56320 && length(p[i]) == 5 && p[i + 1] ~ /^u[dD][c-fC-F]/)
        v = 65536 + (v - 55296) * 1024 + hex(substr(p[++i], 2, 4)) - 56320
      out(character(v))
      out(substr(p[i], 6))
    } else {
      v = index("bfnrt", c)
      out((v ? substr("\b\f\n\r\t", v, 1) : c) substr(p[i], 2))
    }
  }
}
function hex(s,   i, v) {
  for (i = 1; i <= 4; i++) v = v * 16 + index("0123456789abcdef", tolower(substr(s, i, 1))) - 1
  return v
}
function character(v) {
  if (v >= 55296 && v < 57344) return "\357\277\275"
  if (v == 0 && printing) printf "%c", 0
  if (v == 0) return printing ? "" : "?"
  if (v < 128) return sprintf("%c", v)
  if (v < 2048) return sprintf("%c%c", 192 + v / 64, 128 + v % 64)
  if (v < 65536) return sprintf("%c%c%c", 224 + v / 4096, 128 + v / 64 % 64, 128 + v % 64)
  return sprintf("%c%c%c%c", 240 + v / 262144, 128 + v / 4096 % 64, 128 + v / 64 % 64, 128 + v % 64)
}'

# Makes question marks of control characters, which a terminal may obey, and of characters that change the direction of a text.
# shellcheck disable=SC2016
plain='
function plain(s) {
  gsub(/[\001-\010\012-\037\177]/, "?", s)
  gsub(/\302[\200-\237]/, "?", s)
  gsub(/\342\200[\250-\256]/, "?", s)
  gsub(/\342\201[\246-\251]/, "?", s)
  return s
}'

# json PROGRAM: runs an awk program that defines found(path, text). Exit status 2 of awk would mean wrong arguments.
json() {
  LC_ALL=C awk "$reader $plain $1" || return 1
}

# member PATH: the text at that path, on one line.
member() {
  json "function found(path, text) { if (path == \"$1\") print plain(text) }"
}

# Copies standard input; on a terminal without control characters.
show() {
  if [ -t 1 ]; then
    LC_ALL=C awk "$plain"' { sub(/\r$/, ""); print plain($0) }'
  else
    cat
  fi
}

# ---- requests ----

# The lines of curl's configuration that come with the next request.
config=''

percent() {
  put "$1" | od -An -v -tx1 | tr -d ' \n' | sed 's/0a$//; s/../%&/g'
}

quote() {
  put "$1" | LC_ALL=C sed 's/[\\"]/\\&/g'
}

# header NAME VALUE: with an empty VALUE, curl leaves out its own header of that name.
header() {
  case $2 in *[[:cntrl:]]*) wrong "$1 must not contain control characters." ;; esac
  config="$config
header = \"$(quote "$1:${2:+ $2}")\""
}

# text_header NAME TEXT: any text (RFC 8187); none if it is empty.
text_header() {
  [ -z "$2" ] || header "$1*" "UTF-8''$(percent "$2")"
}

# Lets the next request have the body in $work/body. With "upload-file", curl would wait for permission to send it.
send_body() {
  config="$config
data-binary = \"@body\""
}

# Begins the request of a feed.
credentials() {
  config=''
  [ -z "$bearer" ] || header Authorization "Bearer $bearer"
  [ -z "$password" ] || header X-Feed-Password "$password"
}

# write_config METHOD PATH: for curl, which runs in $work.
write_config() {
  cat >"$work/config" <<END
request = "$1"
url = "$(quote "$base$2")"
user-agent = "nf/$version"
silent
show-error
globoff
connect-timeout = 20
$config
END
}

# send METHOD PATH ATTEMPTS [ANSWER]: sets $status, or leaves if the service cannot be reached. Fields of the answer are in
# $work/head, its body in the file ANSWER, or in $work/answer.
send() {
  body=${4:-$work/answer}
  write_config "$1" "$2"
  printf '%s\n' 'dump-header = "head"' 'speed-limit = 1' 'speed-time = 60' >>"$work/config"
  attempt=1
  while :; do
    : >"$work/head"
    (cd "$work" && exec curl -q -K config) >"$body" 2>"$work/problem" &
    wait_for_child
    read_status
    case $code:$status in
      0:50[234]) ;;
      0:*) return ;;
    esac
    [ "$attempt" -lt "$3" ] || break
    pause "$attempt"
    attempt=$((attempt + 1))
  done
  [ "$code" = 0 ] || unreachable
}

read_status() {
  status=$(LC_ALL=C sed -n 's/^HTTP[^ ]* \([0-9][0-9][0-9]\).*/\1/p' "$work/head" | tail -n 1)
}

# The message of curl is safe to show: it names the host, never the name of the feed or a password.
unreachable() {
  say "$base cannot be reached: $(show <"$work/problem" | head -n 1)"
  exit 69
}

pause() {
  sleep "$1" &
  wait_for_child
}

# Leaves with the service's sentence unless the answer is a success.
expect_success() {
  case $status in 2??) return ;; esac
  sentence=$(member .error <"$body")
  reason=$(member .code <"$body")
  say "${sentence:-The service answered with the status $status.}${reason:+ ($reason)}"
  exit 1
}

etag() {
  LC_ALL=C sed -n 's/^[Ee][Tt][Aa][Gg]: *//p' "$work/head" | tr -d '\r' | tail -n 1
}

# ---- remembered feeds ----

# Prints a line for each feed: base, alias, name, =password and =bearer. The "=" keeps empty fields, which read would skip.
each_feed() {
  [ ! -f "$feeds" ] || cat "$feeds"
}

# Sets name, password and bearer.
find_feed() {
  count=0 aliases=''
  each_feed >"$work/feeds" || exit 1
  while IFS=$tab read -r at known its_name its_password its_bearer; do
    [ "$at" = "$base" ] || continue
    aliases="$aliases $known"
    [ -z "$alias" ] || [ "$alias" = "$known" ] || continue
    count=$((count + 1)) name=$its_name password=${its_password#=} bearer=${its_bearer#=}
  done <"$work/feeds"
  [ -n "$aliases" ] || wrong 'No feed is remembered. Try: nf login work'
  [ "$count" != 0 ] || wrong "No feed is remembered as $alias. Remembered are:$aliases"
  [ "$count" = 1 ] || wrong "Say which feed with -f:$aliases"
  if [ -n "$asks_password" ]; then
    ask 'Password of the feed: ' </dev/tty || exit 2
    password=$answer
  fi
  api=/api/v1/feeds/$name
}

# Replaces the line of the alias by standard input, and keeps the lines of all other feeds.
remember() {
  each_feed >"$work/feeds" || exit 1
  mkdir -p "$folder" && chmod 700 "$folder" || exit 1
  partial=$folder/.feeds-$(random)
  while IFS= read -r line; do
    case $line in "$base$tab$alias$tab"*) ;; *) put "$line" || exit 1 ;; esac
  done <"$work/feeds" >"$partial" && cat >>"$partial" && mv -f "$partial" "$feeds" || exit 1
  partial=''
}

# Sets answer to a line of standard input. A terminal does not show the typing.
ask() {
  if [ -t 0 ]; then
    echoing=$(stty -g)
    stty -echo
    printf %s "$1" >&2
  fi
  IFS= read -r answer || [ -n "$answer" ] || answer=''
  if [ -n "$echoing" ]; then
    stty "$echoing"
    echoing=''
    echo >&2
  fi
}

check_alias() {
  case $1 in '' | -* | *[!A-Za-z0-9._-]*) wrong 'The word for a feed may have letters, digits and . _ -' ;; esac
  alias=$1
}

login() {
  [ $# = 1 ] || wrong 'Say under which word to remember the feed: nf login work'
  check_alias "$1"
  answer=''
  ask 'Name of the feed, or its address: '
  name=${answer#"$base/"}
  case $name in '' | *[!a-z0-9_-]*) wrong 'The name of a feed is of a-z, 0-9, - and _' ;; esac
  ask 'Password of the feed, if it has one: '
  password=$answer
  ask 'Password of the instance, if it has one: '
  bearer=$answer
  credentials
  send GET "/api/v1/feeds/$name/notes?limit=1" 1
  expect_success
  remember <<END || exit 1
$base$tab$alias$tab$name$tab=$password$tab=$bearer
END
  say "The feed is remembered as $alias."
}

list_feeds() {
  [ $# = 0 ] || wrong 'nf feeds has no arguments.'
  each_feed | while IFS=$tab read -r at known its_name its_password its_bearer; do
    [ "$at" = "$base" ] || continue
    protected=''
    [ "$its_password" = = ] || protected='  with a password'
    printf '%s%s\n' "$known" "$protected"
  done
}

forget() {
  [ $# = 1 ] || wrong 'Say which feed to forget: nf forget work'
  check_alias "$1"
  find_feed
  remember </dev/null
}

# ---- posting ----

is_picture() {
  picture_type "$1" >/dev/null
}

picture_type() {
  case $1 in
    *.[Pp][Nn][Gg]) echo image/png ;;
    *.[Jj][Pp][Gg] | *.[Jj][Pp][Ee][Gg]) echo image/jpeg ;;
    *.[Gg][Ii][Ff]) echo image/gif ;;
    *.[Ww][Ee][Bb][Pp]) echo image/webp ;;
    *) return 1 ;;
  esac
}

# check_file FILE: before anything is sent.
check_file() {
  [ "$1" != - ] || return 0
  [ -f "$1" ] && [ -r "$1" ] || [ -p "$1" ] || wrong "$1 is no file that can be read."
}

# Copies a file, or standard input. What somebody types exists nowhere else, so it is kept until the service has stored it.
copy_file() {
  if [ "$1" != - ]; then
    cat <"$1"
  elif [ -t 0 ]; then
    say 'Write the note, then press Ctrl-D.'
    : >"$work/before"
    cat >"$work/typed.md" && written=$work/typed.md && cat "$written"
  else
    cat
  fi
}

# part NAME [FILE-NAME TYPE]: the head of a part of a form.
part() {
  printf -- "--%s\r\nContent-Disposition: form-data; name*=UTF-8''%s" "$boundary" "$(percent "$1")"
  [ $# = 1 ] || printf "; filename*=UTF-8''%s\r\nContent-Type: %s" "$(percent "$2")" "$3"
  printf '\r\n\r\n'
}

# The alternative texts are in $work/alt1 and so on.
form() {
  picture=0
  for file; do
    if is_picture "$file"; then
      picture=$((picture + 1))
      part file "${file##*/}" "$(picture_type "$file")"
      copy_file "$file" || return 1
      if [ -f "$work/alt$picture" ]; then
        printf '\r\n'
        part "alt.${file##*/}"
        cat "$work/alt$picture" || return 1
      fi
    else
      part text
      copy_file "$file" || return 1
    fi
    printf '\r\n'
  done
  printf -- '--%s--\r\n' "$boundary"
}

post() {
  find_feed
  credentials
  [ $# != 0 ] || set -- -
  texts=0
  for file; do
    check_file "$file"
    is_picture "$file" || texts=$((texts + 1))
  done
  [ "$texts" -le 1 ] || wrong 'Only one of the files can be a text; pictures are .png, .jpg, .gif and .webp files.'
  [ "$alts" -le $(($# == 1 ? 1 : $# - texts)) ] || wrong 'There are more alternative texts than pictures.'
  if [ $# = 1 ]; then
    # Without a type, the service looks whether it is a picture, and some texts begin as pictures do.
    case $1 in
      *.[Mm][Dd] | *.[Tt][Xx][Tt]) header Content-Type text/markdown ;;
      *) header Content-Type '' ;;
    esac
    copy_file "$1" >"$work/body" || exit 1
    [ "$1" = - ] || text_header X-Note-Name "${1##*/}"
    [ "$alts" = 0 ] || text_header X-Note-Alt "$(cat "$work/alt1")"
  else
    boundary=nf-$(random)
    header Content-Type "multipart/form-data; boundary=$boundary"
    form "$@" >"$work/body" || exit 1
  fi
  text_header X-Note-Title "$title"
  text_header X-Note-Tags "$tags"
  [ -z "$expires" ] || header X-Note-Expires "$expires"
  # A retry after a lost connection makes no second note.
  header Idempotency-Key "${key:-$(random)}"
  send_body
  send POST "$api/notes" 4
  expect_success
  written=''
  if [ -n "$as_json" ]; then show <"$body"; else show_posted <"$body"; fi
}

# The id, and the page for those who read.
show_posted() {
  # shellcheck disable=SC2016
  json '
function found(path, text) {
  if (path == ".id") id = text
  if (path == ".read_url") page = text
}
END { print plain(id) (sub(/feed\.xml$/, id, page) ? "  " plain(page) : "") }'
}

# ---- reading ----

# Prints a line for each note, and for a search a line of where it was found.
# shellcheck disable=SC2016
table='
function row(at,   when) {
  when = substr(v[at ".created_at"], 1, 16)
  sub(/T/, " ", when)
  print plain(when "  " v[at ".id"] "  " v[at ".title"] v[at ".tags"])
  if (at ".match.text" in v) print "    " plain(v[at ".match.text"])
}
function keep(path, text) { v[path] = path ~ /\.tags$/ ? v[path] "  #" text : text }'

# list [QUERY]
list() {
  find_feed
  credentials
  query=''
  for wanted in "limit ${limit:-20}" "q $1" "tag $tag" "from $from" "to $to" "before $before"; do
    query="$query&${wanted%% *}=$(percent "${wanted#* }")"
  done
  send GET "$api/notes?${query#?}" 3
  expect_success
  if [ -n "$as_json" ]; then
    show <"$body"
    return
  fi
  # shellcheck disable=SC2016
  json "$table"'
function found(path, text) {
  keep(path, text)
  if (path == ".notes{}") { row(".notes"); split("", v) }
}' <"$body" || exit 1
  next=$(member .next <"$body")
  [ "$next" = null ] || say "There is more: --before $next"
}

# read_note ID: the note as JSON is then in $work/answer.
read_note() {
  [ -n "$1" ] || wrong 'The id is empty.'
  note=$api/notes/$(percent "$1")
  credentials
  send GET "$note" 3
  expect_success
}

# Prints the text of the note that was read, byte for byte.
text_of_note() {
  json 'BEGIN { raw = ".content" } function found(path, text) { }' <"$work/answer"
}

is_text() {
  [ "$(member .type <"$work/answer")" = text/markdown ]
}

get() {
  [ $# = 1 ] || wrong 'Say which note: nf get ID'
  find_feed
  read_note "$1"
  if [ -n "$as_json" ]; then
    show <"$body"
  elif is_text; then
    text_of_note | show
  else
    [ ! -t 1 ] || wrong 'This is a picture. Write it into a file: nf get ID >FILE'
    url=$(member .file_url <"$body")
    case $url in "$base"/r/*) ;; *) wrong 'The feed has no read link, so its pictures cannot be read.' ;; esac
    # Everybody may read it, without a password.
    config=''
    send GET "${url#"$base"}" 3 "$work/picture"
    expect_success
    cat "$work/picture"
  fi
}

# Shows what is posted, edited and removed from now on, until it is stopped. A connection that ends is opened again at the
# last note that was shown.
follow() {
  [ $# = 0 ] || wrong 'nf tail has no arguments.'
  find_feed
  check_reading
  place=$(member .notes.id <"$body")
  mkfifo "$work/events" || exit 1
  delay=1
  while :; do
    credentials
    header Accept application/x-ndjson
    # A feed without notes has no last note yet: 0 is the place before all notes.
    write_config GET "$api/events?notes=1&since=$(percent "${place:-0}")"
    # The service sends something every 15 seconds.
    printf '%s\n' no-buffer fail 'dump-header = "head"' 'speed-limit = 1' 'speed-time = 45' >>"$work/config"
    (cd "$work" && exec curl -q -K config) >"$work/events" 2>"$work/problem" &
    child=$!
    while IFS= read -r line; do
      delay=1
      # It fails when nobody reads what it shows any more.
      [ -z "$line" ] || show_event || exit 141
    done <"$work/events"
    wait "$child"
    code=$?
    # Exit status 22 of curl: the request was refused. While the service restarts, a proxy answers with 5xx.
    if [ "$code" = 22 ]; then
      read_status
      case $status in 429 | 5??) ;; *) check_reading ;; esac
    fi
    pause "$delay"
    [ "$delay" -ge 30 ] || delay=$((delay * 2))
  done
}

# Leaves if the feed cannot be read. Its newest note is then in $work/answer.
check_reading() {
  credentials
  send GET "$api/notes?limit=1" 3
  expect_success
}

# Shows the event in $line, and sets place to its note if that is new.
show_event() {
  put "$line" >"$work/event"
  event=$(member .event <"$work/event")
  [ "$event" != note ] || place=$(member .id <"$work/event")
  if [ -n "$as_json" ]; then
    show <"$work/event"
    return
  fi
  case $event in
    note) show_event_row '' ;;
    edited) show_event_row 'edited  ' ;;
    gone) echo "gone    $(member .id <"$work/event")" ;;
    reset) say 'Not all changes are shown. Try: nf list' ;;
  esac
}

show_event_row() {
  # shellcheck disable=SC2016
  json "$table"'
function found(path, text) { keep(path, text) }
END { printf "%s", "'"$1"'"; row(".note") }' <"$work/event"
}

export_feed() {
  [ $# = 1 ] || wrong 'Say into which file: nf export FILE.zip'
  [ ! -d "$1" ] || wrong "$1 is a folder. Say into which file: nf export FILE.zip"
  [ "$1" != - ] || [ ! -t 1 ] || wrong 'A terminal cannot show a zip. Write it into a file: nf export FILE.zip'
  find_feed
  credentials
  # To put a file into the place of a device, a pipe or a link would break what it is for.
  if [ "$1" = - ] || [ -L "$1" ] || { [ -e "$1" ] && [ ! -f "$1" ]; }; then
    send GET "$api/export" 3 "$work/zip"
    expect_success
    if [ "$1" = - ]; then cat "$work/zip"; else cat "$work/zip" >"$1"; fi || exit 1
    return
  fi
  # For mv and rm, a name that begins with - would be an option.
  case $1 in /*) file=$1 ;; *) file=./$1 ;; esac
  partial=$file.part-$(random)
  true >"$partial" || exit 2
  send GET "$api/export" 3 "$partial"
  expect_success
  mv -f "$partial" "$file" || exit 1
  partial=''
}

# ---- changing ----

edit() {
  [ $# = 1 ] || [ $# = 2 ] || wrong 'Say which note: nf edit ID'
  [ $# = 1 ] || check_file "$2"
  find_feed
  read_note "$1"
  tag_read=$(etag)
  if [ $# = 2 ]; then
    copy_file "$2" >"$work/body" || exit 1
  else
    is_text || wrong 'This is a picture. Replace it by a file: nf edit ID FILE'
    text_of_note >"$work/before"
    [ "$(($(wc -c <"$work/before")))" = "$(member .size <"$work/answer")" ] ||
      wrong 'The text cannot be read exactly. Replace it by a file: nf edit ID FILE'
    write_text
  fi
  credentials
  header If-Match "$tag_read"
  # The service looks which picture it is.
  if is_text; then header Content-Type text/markdown; else header Content-Type ''; fi
  send_body
  # Only one attempt: if its answer was lost, the note has changed, and If-Match would refuse the second.
  send PUT "$note" 1
  expect_success
  written=''
  [ -z "$as_json" ] || show <"$body"
}

# Lets the person edit the text; leaves if it is the same afterwards.
write_text() {
  cp "$work/before" "$work/note.md" || exit 1
  written=$work/note.md
  editor=${VISUAL:-${EDITOR:-vi}}
  # The editor may be a command with arguments.
  # shellcheck disable=SC2016
  sh -c "$editor"' "$@"' sh "$written" || {
    say 'The editor failed, so nothing is changed.'
    exit 1
  }
  if cmp -s "$written" "$work/before"; then
    say 'Nothing is changed.'
    exit 0
  fi
  cp "$written" "$work/body" || exit 1
}

delete() {
  [ $# != 0 ] || wrong 'Say which note: nf delete ID'
  find_feed
  for id; do
    read_note "$id"
    tag_read=$(etag)
    confirm || continue
    credentials
    # What somebody else has written since the question was asked stays.
    header If-Match "$tag_read"
    send DELETE "$note" 1
    expect_success
  done
}

# Asks whether to delete the note that was read.
confirm() {
  [ -t 0 ] && [ -z "$yes" ] || return 0
  json '
function found(path, text) { if (path == ".title") title = text }
END { printf "Delete \"%s\"? [y/N] ", plain(title) }' <"$work/answer" >&2
  read -r answer || answer=''
  case $answer in [Yy]*) ;; *) return 1 ;; esac
}

# ---- arguments ----

[ $# != 0 ] || {
  help >&2
  exit 2
}
command=$1
shift
case $command in
  post) takes='-f --password --json --title --tag --key --expires --alt' ;;
  list | search) takes='-f --password --json --tag --from --to --limit --before' ;;
  get | edit) takes='-f --password --json' ;;
  delete) takes='-f --password --yes' ;;
  tail) takes='-f --password --json' ;;
  export) takes='-f --password' ;;
  login | feeds | forget) takes='' ;;
  --help | -h | help)
    help
    exit 0
    ;;
  --version)
    echo "nf $version of $base"
    exit 0
    ;;
  *) wrong "There is no command $command. Try: nf --help" ;;
esac
make_work

alias='' asks_password='' as_json='' title='' tag='' tags='' key='' expires='' alts=0 from='' to='' limit='' before='' yes=''
# Options are taken out of the arguments, which turn round once.
left=$#
while [ "$left" -gt 0 ]; do
  option=$1
  shift
  left=$((left - 1))
  case $option in
    --)
      while [ "$left" -gt 0 ]; do
        set -- "$@" "$1"
        shift
        left=$((left - 1))
      done
      continue
      ;;
    -?*) ;;
    *)
      set -- "$@" "$option"
      continue
      ;;
  esac
  case " $takes " in *" $option "*) ;; *) wrong "nf $command has no option $option. Try: nf --help" ;; esac
  case $option in
    --json) as_json=1 ;;
    --yes) yes=1 ;;
    --password) asks_password=1 ;;
    *)
      [ "$left" -gt 0 ] || wrong "$option needs a value."
      value=$1
      shift
      left=$((left - 1))
      case $option in
        -f) check_alias "$value" ;;
        --title) title=$value ;;
        --tag) tag=$value tags=${tags:+$tags,}$value ;;
        --key) key=$value ;;
        --expires) expires=$value ;;
        --alt) alts=$((alts + 1)) && printf %s "$value" >"$work/alt$alts" ;;
        --from) from=$value ;;
        --to) to=$value ;;
        --limit) limit=$value ;;
        --before) before=$value ;;
      esac
      ;;
  esac
done

case $command in
  list)
    [ $# = 0 ] || wrong 'nf list has no arguments. Try: nf search WORDS'
    list ''
    ;;
  search)
    [ $# != 0 ] || wrong 'Say what to search for: nf search WORDS'
    list "$*"
    ;;
  feeds) list_feeds "$@" ;;
  tail) follow "$@" ;;
  export) export_feed "$@" ;;
  *) "$command" "$@" ;;
esac
