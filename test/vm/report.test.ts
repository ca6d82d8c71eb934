import t from 'tap';
import { sectionOf } from '#test/vm/report.js';
import { leftBehind } from '#test/vm/scenarios/footprint.js';

t.test('the table of hosts shows upstream versions', (t) => {
  const versions = [
    'Debian 12.15',
    'kernel 6.1.0-50-cloud-amd64',
    'systemd 252.39-1~deb12u2',
    'containerd 1.6.20~ds1-1+deb12u3',
    'runc 1.1.5+ds1-1+deb12u1',
    'etcd-server 3.4.23-4+b4',
    'containernetworking-plugins 1.1.1+ds1-3+b5',
  ].join('\n');
  const pods = { what: 'pods', passed: 70, failed: 1, seconds: 610, accelerator: 'KVM' };
  const reboot = { ...pods, what: 'reboot' };
  const host = { suite: 'bookworm', versions, node: 'v26.12.1', scenarios: { pods } };
  const other = { ...host, versions: versions.replace('12.15', '13.8'), scenarios: { pods, reboot } };
  const section = sectionOf([host, other]);
  t.match(section, '| 12.15 | 6.1.0-50-cloud-amd64 | 252.39 | 1.6.20 | 1.1.5 | 3.4.23 | 1.1.1 | 26.12.1 |\n', 'a host');
  t.match(section, '| what | Debian 12.15 | Debian 13.8 |\n', 'the hosts of the scenarios');
  const figures = '70 passed, 1 failed (10 min, KVM)';
  t.match(section, `| pods | ${figures} | ${figures} |\n| reboot | not run | ${figures} |\n`, 'what ran where');
  t.end();
});

t.test('what a cluster leaves is what was not there before', (t) => {
  const before = { files: ['/etc/a'], mounts: ['/dev/vda /'] };
  t.same(leftBehind(before, { files: ['/etc/a'], mounts: [] }), {}, 'nothing');
  t.same(leftBehind(before, { files: ['/etc/a', '/etc/b'], mounts: ['/dev/vda /'] }), { files: ['/etc/b'] }, 'a file');
  t.end();
});
