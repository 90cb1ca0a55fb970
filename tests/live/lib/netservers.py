# SPDX-License-Identifier: MIT
"""netservers - real servers on the far side of a lab: nginx, sshd, redis, and what they serve."""
import base64
import io
import tarfile
import zipfile
from netlab import *

SITE = 'good.test'
NGINX, SSHD = '/usr/sbin/nginx', '/usr/sbin/sshd'

NGINX_CONF = """
master_process off; # so that nothing is left of it when it is killed
daemon off;
pid {place}/nginx.pid;
error_log {place}/nginx.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    types {{ text/html html; application/json json; }}
    default_type application/octet-stream;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    ssl_certificate {place}/site.pem;
    ssl_certificate_key {place}/site.key;
    server {{
        {listen}
        root {place}/site;
        location = /npm/pale-thing {{ types {{ }} default_type application/json; alias {place}/site/npm/pale-thing.json; }}
    }}
}}
"""

SSHD_CONF = """
HostKey {place}/ssh_host_key
AuthorizedKeysFile {place}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
ListenAddress {FAR4}
ListenAddress [{FAR6}]
"""


def _quiet(*argv, **kw):
    subprocess.run([os.fspath(a) for a in argv], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **kw)


def _certificates(place):
    """An authority of the test's own, and what it says of the site."""
    _quiet('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
           '-subj', '/CN=lab', '-keyout', place / 'ca.key', '-out', place / 'ca.pem',
           '-addext', 'basicConstraints=critical,CA:TRUE')
    _quiet('openssl', 'req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', f'/CN={SITE}',
           '-keyout', place / 'site.key', '-out', place / 'site.csr')
    (place / 'ext').write_text(f'subjectAltName=DNS:{SITE},DNS:*.test,IP:{FAR4},IP:{FAR6},IP:{OTHER4}\n')
    _quiet('openssl', 'x509', '-req', '-in', place / 'site.csr', '-CA', place / 'ca.pem', '-CAkey', place / 'ca.key',
           '-CAcreateserial', '-days', '2', '-extfile', place / 'ext', '-out', place / 'site.pem')


def _repository(place):
    source = place / 'source'
    env = dict(os.environ, GIT_CONFIG_GLOBAL='/dev/null', GIT_CONFIG_SYSTEM='/dev/null', GIT_AUTHOR_NAME='lab',
               GIT_AUTHOR_EMAIL='lab@lab.test', GIT_COMMITTER_NAME='lab', GIT_COMMITTER_EMAIL='lab@lab.test')
    _quiet('git', 'init', '-q', '-b', 'main', source)
    (source / 'hello').write_text('hello from git\n')
    _quiet('git', '-C', source, 'add', '.')
    _quiet('git', '-C', source, 'commit', '-qm', 'hello', env=env)
    _quiet('git', 'clone', '-q', '--bare', source, place / 'site/project.git')
    _quiet('git', '-C', place / 'site/project.git', 'update-server-info')


def _npm_package(place):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode='w:gz') as tar:
        for name, text in (('package/package.json', json.dumps({'name': 'pale-thing', 'version': '1.0.0', 'main': 'index.js'})),
                           ('package/index.js', "module.exports = 'hello from npm';\n")):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    packed = held.getvalue()
    (place / 'site/npm').mkdir()
    (place / 'site/npm/pale-thing-1.0.0.tgz').write_bytes(packed)
    version = {'name': 'pale-thing', 'version': '1.0.0', 'dist': {
        'tarball': f'https://{SITE}/npm/pale-thing-1.0.0.tgz',
        'integrity': 'sha512-' + base64.b64encode(hashlib.sha512(packed).digest()).decode()}}
    (place / 'site/npm/pale-thing.json').write_text(json.dumps(
        {'name': 'pale-thing', 'dist-tags': {'latest': '1.0.0'}, 'versions': {'1.0.0': version}}))


def _python_package(place):
    name = 'pale_thing-1.0-py3-none-any.whl'
    (place / 'site/simple/pale-thing').mkdir(parents=True)
    with zipfile.ZipFile(place / 'site/simple/pale-thing' / name, 'w') as wheel:
        wheel.writestr('pale_thing.py', "HELLO = 'hello from pip'\n")
        info = 'pale_thing-1.0.dist-info'
        wheel.writestr(f'{info}/METADATA', 'Metadata-Version: 2.1\nName: pale-thing\nVersion: 1.0\n')
        wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\nGenerator: lab\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        wheel.writestr(f'{info}/RECORD', '')
    (place / 'site/simple/pale-thing/index.html').write_text(f'<a href="{name}">{name}</a>\n')


def need_servers():
    """tools/deps does not install them where they would begin to serve."""
    missing = [program for program in (NGINX, SSHD) if not os.path.exists(program)]

    def case_servers(p):
        skip(p, f'{missing[0]} is not installed')

    if missing:
        main(case_servers)


def start_site(lab):
    """HTTP and HTTPS on FAR4, FAR6 and OTHER4: pages, a git repository, packages of npm and pip."""
    place = lab.place
    (place / 'site').mkdir()
    (place / 'site/hello').write_text('hello from nginx\n')
    (place / 'site/big').write_bytes(bytes(range(256)) * 4 * 4096)
    _certificates(place)
    _repository(place)
    _npm_package(place)
    _python_package(place)
    places = (FAR4, f'[{FAR6}]', OTHER4)
    listen = ' '.join(f'listen {a}:80; listen {a}:443 ssl;' for a in places)
    (place / 'nginx.conf').write_text(NGINX_CONF.format(place=place, listen=listen))
    lab.start(NGINX, '-p', place, '-e', place / 'nginx.log', '-c', place / 'nginx.conf')
    lab.answers(FAR4, 443)
    return place / 'ca.pem'


def start_sshd(lab):
    """Lets root in, by a key that is made here. Gives the private key and what to know the host by."""
    place = lab.place
    for name in ('ssh_host_key', 'ssh_key'):
        _quiet('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', place / name)
    shutil.copy(place / 'ssh_key.pub', place / 'authorized_keys')
    (place / 'sshd_config').write_text(SSHD_CONF.format(place=place, FAR4=FAR4, FAR6=FAR6))
    os.makedirs('/run/sshd', exist_ok=True)
    lab.start(SSHD, '-D', '-e', '-f', place / 'sshd_config', stderr=open(place / 'sshd.log', 'wb'))
    lab.answers(FAR4, 22)
    host_key = ' '.join((place / 'ssh_host_key.pub').read_text().split()[:2])
    return (place / 'ssh_key').read_text(), f'{SITE} {host_key}\n'


def start_redis(lab, address, port=6379, far=True):
    """One program of that package is all of it: what it is called makes it the server."""
    server = shutil.which('redis-server')
    if not server:
        server = lab.place / 'redis-server'
        if not server.exists():
            server.symlink_to(shutil.which('redis-check-rdb'))
    lab.start(server, '--bind', address, '--port', str(port), '--save', '', '--protected-mode', 'no', '--dir', str(lab.place), far=far)
    lab.answers(address, port, far=far)
