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
  const result = { images: '', suite: 'bookworm', versions, node: 'v26.12.1', scenarios: ['pods', 'reboot'] };
  const section = sectionOf([{ ...result, passed: 70, failed: 0, seconds: 610, accelerator: 'KVM' }]);
  t.match(
    section,
    '| 12.15 | 6.1.0-50-cloud-amd64 | 252.39 | 1.6.20 | 1.1.5 | 3.4.23 | 1.1.1 | 26.12.1 | 70 passed, 0 failed, in 10 minutes with KVM |\n',
    'a row',
  );
  t.match(section, '- pods\n- reboot\n', 'what ran');
  t.end();
});

t.test('what a cluster leaves is what was not there before', (t) => {
  const before = { files: ['/etc/a'], mounts: ['/dev/vda /'] };
  t.same(leftBehind(before, { files: ['/etc/a'], mounts: [] }), {}, 'nothing');
  t.same(leftBehind(before, { files: ['/etc/a', '/etc/b'], mounts: ['/dev/vda /'] }), { files: ['/etc/b'] }, 'a file');
  t.end();
});
