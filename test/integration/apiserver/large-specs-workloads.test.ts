import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { testLargeSpecs } from '#test/integration/apiserver/resources/repetition.js';
import { workloadCases } from '#test/integration/apiserver/resources/workloads.js';

testLargeSpecs(t, workloadCases, kubernetesDialect);
