# The body of a fake agent: tells the test what it was called with, then does what the test says, in order.
# In Perl, which comes with git and starts in a tenth of the time of Node: most tests start a few of these.
use strict;
use warnings;
use Cwd ();
use MIME::Base64 qw(decode_base64);
use Socket;

delete $ENV{PERL_BADLANG};
my ($path, @argv) = @ARGV;
# With handlers, not ignored: what it starts does not get them.
$SIG{PIPE} = sub { };
my %background;
$SIG{CHLD} = sub {
  local ($?, $!);
  waitpid($_, 1) > 0 and delete $background{$_} for keys %background;
};

my $cwd = Cwd::getcwd() // exit 1;
my $input = '';
if (!$ENV{FAKE_AGENT_SKIPS_STDIN}) {
  while (1) {
    my $count = sysread STDIN, $input, 65536, length $input;
    next if !defined $count && $!{EINTR};
    last if !$count;
  }
}
my $socket;
socket($socket, PF_UNIX, SOCK_STREAM, 0) && connect($socket, sockaddr_un($path)) or exit 9;
my $env = join ',', map { text($_) . ':' . text($ENV{$_}) } keys %ENV;
my $words = join ',', map { text($_) } @argv;
tell_test(qq({"argv":[$words],"input":${\text($input)},"cwd":${\text($cwd)},"env":{$env},"pid":$$}));

my $buffer = '';
while (1) {
  while ($buffer =~ s/^(.*)\n//) {
    my ($id, $name, @fields) = split / /, $1, -1;
    my $answer = obey($name, map { decode_base64($_) } @fields);
    tell_test(qq({"done":$id) . (defined $answer ? qq(,"answer":$answer}) : '}'));
  }
  my $count = sysread $socket, $buffer, 65536, length $buffer;
  next if !defined $count && $!{EINTR};
  exit(defined $count ? 0 : 9) if !$count;
}

sub obey {
  my ($name, $first, $second, $third) = @_;
  if ($name eq 'print') { put(\*STDOUT, $first) }
  elsif ($name eq 'printError') { put(\*STDERR, $first) }
  elsif ($name eq 'write') {
    open my $file, '>', $first or exit 1;
    put($file, $second);
    close $file;
  }
  elsif ($name eq 'shell') { return text(output_of($first)) }
  elsif ($name eq 'background') { return in_background($first, $second eq 'true', $third) }
  elsif ($name eq 'ignore') { $first =~ s/^SIG//; $SIG{$first} = sub { } }
  elsif ($name eq 'exit') { exit $first }
  return undef;
}

sub output_of {
  my ($script) = @_;
  pipe my $out, my $in or exit 1;
  my $child = fork // exit 1;
  if ($child == 0) {
    open STDIN, '<', '/dev/null';
    open STDOUT, '>&', $in;
    open STDERR, '>', '/dev/null';
    exec 'sh', '-c', $script;
    exit 127;
  }
  close $in;
  my $output = '';
  while (1) {
    my $count = sysread $out, $output, 65536, length $output;
    next if !defined $count && $!{EINTR};
    last if !$count;
  }
  1 while waitpid($child, 0) == -1 && $!{EINTR};
  return $output;
}

sub in_background {
  my ($script, $detached, $stdio) = @_;
  require POSIX;
  my $child = fork // exit 1;
  if ($child == 0) {
    POSIX::setsid() if $detached;
    if ($stdio eq 'ignore') {
      open STDIN, '<', '/dev/null';
      open STDOUT, '>', '/dev/null';
      open STDERR, '>', '/dev/null';
    }
    exec 'sh', '-c', $script;
    exit 127;
  }
  $background{$child} = 1;
  return $child;
}

# The bytes are UTF-8 already.
sub text {
  my ($bytes) = @_;
  $bytes =~ s/(["\\])/\\$1/g;
  $bytes =~ s/([\x00-\x1f])/sprintf '\\u%04x', ord $1/ge;
  return qq("$bytes");
}

sub tell_test { put($socket, "$_[0]\n") || exit 9 }

sub put {
  my ($to, $bytes) = @_;
  for (my $done = 0; $done < length $bytes;) {
    my $count = syswrite $to, $bytes, length($bytes) - $done, $done;
    if (defined $count) { $done += $count }
    elsif ($!{EAGAIN}) { select undef, undef, undef, 0.01 }
    elsif (!$!{EINTR}) { fileno($to) == fileno($socket) ? return 0 : exit 1 }
  }
  return 1;
}
