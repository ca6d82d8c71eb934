/** The commands that orchctl and kubectl 1.24 are compared by, in their order: each works on what those before left. */
import { type Row, rows } from '#test/integration/client/kubectl/rows.js';

const create = rows(`
create namespace shop
create namespace shop
create namespace other --dry-run=client -o yaml
create namespace other --dry-run=server
create namespace
create deployment web --image=nginx --replicas=3 -n shop
create deployment web --image=nginx -n shop
create deployment many --image=nginx,redis:6 --port=80 --dry-run=client -o yaml
create deployment many --image=nginx --dry-run=client -o json
create deployment none
create deployment many --image=a,b --dry-run=client -- date
create configmap colors --from-literal=sky=blue --from-literal=grass=green -n shop
create configmap colors --from-file=@colors --from-file=other=@sky -n shop --dry-run=client -o yaml
create cm files --from-file=@folder --append-hash --dry-run=client -o yaml
create configmap env --from-env-file=@env --dry-run=client -o yaml
create configmap bad --from-literal=sky
create configmap bad --from-literal='a b=c'
create configmap bad --from-literal=a=b --from-literal=a=c
create configmap bad --from-file=@missing
create secret generic login --from-literal=user=jane -n shop
create secret generic login --type=custom --from-literal=user=jane --dry-run=client -o yaml
create secret docker-registry pull --docker-username=u --docker-password=p --dry-run=client -o yaml
create secret docker-registry pull
create secret tls site --cert=@missing --key=@missing
create serviceaccount builder -n shop
create sa builder --dry-run=client -o yaml
create role reader --verb=get,list --resource=pods,deployments.apps,pods/log -n shop
create role reader --verb=get --resource=pods --resource-name=a --dry-run=client -o yaml
create role bad --verb=get --resource=nothing
create role bad --verb=get
create clusterrole reader --verb=get,list --resource=nodes
create clusterrole paths --verb=get --non-resource-url=/healthz,/logs/* --dry-run=client -o yaml
create clusterrole sum --aggregation-rule=a=b --dry-run=client -o yaml
create rolebinding readers --role=reader --user=jane --group=devs --serviceaccount=shop:builder -n shop
create rolebinding readers --role=a --clusterrole=b
create clusterrolebinding readers --clusterrole=reader --serviceaccount=shop:builder --dry-run=client -o yaml
create clusterrolebinding readers --clusterrole=reader --group=devs
create job once --image=busybox -n shop -- date -u
create job once --image=busybox --dry-run=client -o yaml -- date
create job once
create cronjob nightly --image=busybox '--schedule=0 3 * * *' -n shop -- date
create cj nightly --image=busybox '--schedule=0 3 * * *' --restart=Never --dry-run=client -o yaml
create job now --from=cronjob/nightly -n shop
create quota small --hard=cpu=1,memory=1Gi,pods=10 -n shop
create quota small --hard=cpu=1000m --scopes=BestEffort --dry-run=client -o yaml
create pdb web --selector=app=web,tier!=db --min-available=1
create pdb web '--selector=app=web,tier in (a,b)' --min-available=50% -n shop --dry-run=client -o yaml
create pdb web --selector=app=web --max-unavailable=1 -n shop
create pdb web --selector=app=web
create priorityclass high --value=1000 --description=first
create pc low --value=1 --global-default --preemption-policy=Never --dry-run=client -o yaml
create service clusterip web --tcp=80:8080 --dry-run=client -o yaml
create service clusterip web --clusterip=None -n shop
create svc nodeport web --tcp=80 --node-port=30080 --dry-run=client -o yaml
create service externalname db --external-name=db.example.com --dry-run=client -o yaml
create service clusterip web
create ingress site --rule=shop.example/*=web:80,tls=cert --rule=shop.example/a=web:http --default-backend=web:80 --class=public --annotation=a=b --dry-run=client -o yaml
create ingress site --rule=shop.example/=web:80 -n shop
create ingress site
create ingress site --rule=nonsense
create -f @pod.yaml -n shop
create -f @pod.yaml -n shop
create -f @missing.yaml
create -f @bad.yaml
create -f @unknown.yaml
create -f @many.yaml -n shop --dry-run=client
create nonsense
`);

const get = rows(`
get pods -n shop
get pods -n shop -o wide
get pods -n shop --show-labels
get pods -n shop -L app,tier
get pods -n shop --no-headers
get pods -n shop -o name
get pods -n shop -l app=web
get pods -n shop -l app=none
get pods -n shop --field-selector=metadata.name=web-0
get pods
get pods -A
get pods,configmaps -n shop
get pod/web-0 configmap/colors -n shop
get pod web-0 -n shop --show-kind
get pod web-0 nothing -n shop
get pod nothing -n shop
get pod nothing -n shop --ignore-not-found
get pod nothing -n nowhere
get configmap colors -n shop -o yaml
get configmap colors -n shop -o json
get configmaps,secrets -n shop -o yaml
get configmap colors -n shop -o jsonpath={.data.sky}
get pods -n shop -o jsonpath={.items[*].metadata.name}
get pods -n shop -o 'jsonpath={range .items[*]}{.metadata.name}{"\\t"}{.spec.containers[0].image}{"\\n"}{end}'
get pods -n shop -o 'jsonpath={.items[?(@.metadata.name=="web-0")].spec.containers[*].image}'
get pods -n shop -o jsonpath-as-json={.items[*].metadata.labels}
get pods -n shop -o jsonpath
get pods -n shop -o jsonpath={.a
get pods -n shop -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,NONE:.a.b
get pods -n shop -o custom-columns=NAME
get pods -n shop -o custom-columns-file=@columns
get pods -n shop -o 'go-template={{range .items}}{{.metadata.name}}{{"\\n"}}{{end}}'
get pods -n shop -o 'go-template={{range $i, $p := .items}}{{if $i}}, {{end}}{{printf "%s=%v" $p.metadata.name (len $p.spec.containers)}}{{end}}'
get pods -n shop -o go-template-file=@template
get pods -n shop -o nonsense
get pods -n shop --sort-by=.metadata.name
get pods -n shop --sort-by=.spec.containers[0].image
get pods -n shop --sort-by=.a.b
get pods -n shop --sort-by={.metadata.name} -o name
get pods -n shop --chunk-size=1
get pods -n shop --server-print=false
get -f @pod.yaml -n shop
get -f @pod.yaml -n other
get nonsense
get pods.nonsense
get
get pods web-0 -l app=web
get pod/web-0 configmap
get deploy,sa -n shop
get --raw /api/v1/namespaces/shop
get --raw nothing
get --raw /nothing
get deploy web -n shop --subresource=scale
get namespaces shop -o wide
get all -n nowhere
-n shop get pods
get -n shop po -o name
`);

export const table: readonly Row[] = [...create, ...get];
