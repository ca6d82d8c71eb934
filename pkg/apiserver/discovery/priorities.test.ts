/** Priorities of local API services, as in the APIServices of a 1.24.17 server. */
import t from 'tap';
import type { GroupKey } from '#apimachinery/dialect.js';
import { groupPriority, versionPriority } from '#apiserver/discovery/priorities.js';

const shown = `core v1 18000 1
admissionregistration v1 16700 15
apiextensions v1 16700 15
apps v1 17800 15
authentication v1 17700 15
authorization v1 17600 15
autoscaling v1 17500 15
batch v1 17400 15
certificates v1 17300 15
coordination v1 16500 15
discovery v1 16200 15
events v1 17750 15
networking v1 17200 15
node v1 16300 15
policy v1 17100 15
rbac v1 17000 15
scheduling v1 16600 15
storage v1 16800 15
batch v1beta1 17400 9
discovery v1beta1 16200 12
events v1beta1 17750 5
flowcontrol v1beta1 16100 12
node v1beta1 16300 9
policy v1beta1 17100 9
storage v1beta1 16800 9
storage v1alpha1 16800 1
flowcontrol v1beta2 16100 15
autoscaling v2 17500 30
autoscaling v2beta1 17500 9
autoscaling v2beta2 17500 1
apiserverinternal v1alpha1 16000 9`;

for (const line of shown.split('\n')) {
  const [group = '', version = '', ofGroup, ofVersion] = line.split(' ');
  const key = group as GroupKey;
  t.same([groupPriority(key), versionPriority(key, version)], [Number(ofGroup), Number(ofVersion)], line);
}
