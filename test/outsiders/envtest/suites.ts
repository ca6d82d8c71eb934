/** The public suites that run on envtest's programs: where they come from, and what differs on this project's programs. */

export interface EnvtestSuite {
  /** Unique together with the version. */
  readonly name: string;
  readonly module: string;
  readonly version: string;
  /** Patterns of packages, as `go test` takes them. */
  readonly packages: readonly string[];
  /** Replacements of required modules: `MODULE=MODULE@VERSION`. */
  readonly replace?: readonly string[];
  /** Lines of a shell script, run once in the copied module. */
  readonly prepare?: readonly string[];
  /** Tests that differ from those with kube-apiserver 1.24.17 and etcd. */
  readonly differs?: readonly Difference[];
}

export interface Difference {
  /** Matches the test's name, or where the test is a suite's first step, its package. */
  readonly test: RegExp;
  /** A sentence. */
  readonly reason: string;
}

/** The last patch of a library of release 1.24. */
const library = (name: string) => `k8s.io/${name}=k8s.io/${name}@v0.24.17`;
/** Older versions of this library panic when built by newer compilers. */
const reflect2 = 'github.com/modern-go/reflect2=github.com/modern-go/reflect2@v1.0.2';

/** Of what controller-runtime of release 1.24's time requires. */
const release = [
  ...['api', 'apiextensions-apiserver', 'apimachinery', 'client-go', 'component-base'].map(library),
  reflect2,
];

export const envtestSuites: readonly EnvtestSuite[] = [
  {
    name: 'controller-runtime',
    module: 'sigs.k8s.io/controller-runtime',
    version: 'v0.12.3',
    packages: ['./pkg/...'],
    replace: release,
    differs: [
      {
        test: /^CertWatcher .* should get updated on read certificate errors$/,
        reason:
          'It counts within its own process in a given time, without a server: it fails on machines that are busy.',
      },
    ],
  },
  { name: 'controller-runtime', module: 'sigs.k8s.io/controller-runtime', version: 'v0.25.2', packages: ['./pkg/...'] },
  {
    name: 'kueue',
    module: 'sigs.k8s.io/kueue',
    version: 'v0.2.1',
    packages: ['./test/integration/...'],
    replace: release,
  },
];
