"""The expressions that both sides are asked, one a line, over the columns of rows.SCHEMA."""

from __future__ import annotations

from typing import Final

_TEXT: Final = r"""
s = 'start'
s0 = 'start'
s0 <> 'a'
s != s0
s0 == s0
s0 < 'b'
s >= s0
s0 <=> 'a'
s <=> s0
s0 <=> s0
hex(null)
unix_timestamp(null)
bit_count(null)
timestamp_seconds(null)
i0 <=> null
d0 <=> d
d0 <=> d0
i = 1
i0 > 1
l0 <= i0
l = d
l0 < d0
d = d0
d < d0
d >= d0
d > 1.5
d0 <= 1
d0 <> 0
d = -0.0
l > 1.5
i0 = 1.50
dec > 1
dec = 1.5
dec0 < d0
dec <= dec0
i = '1'
l0 > '-7'
d < '1.5'
da = '2024-02-29'
da0 > DATE '2000-01-01'
ts > '2024-01-01'
ts0 >= TIMESTAMP '2024-02-29 12:34:56.789'
ts < da
lt0 = da
b = b0
b0 and b
b and b0
b0 and b0
b or b0
b0 or b
b0 or (b0 and b)
not b0
not b
not (b0 and s0 = 'a')
b0 and null
b0 or null
null or b
s0 = 'a' or i0 = 1
s0 = 'a' and i0 = 1
(s0 = 'a' or i0 > 1) and (d0 < 1 or b0)
s0 is null
s is not null
b0 is true
b0 is not true
b0 is false
b0 is not false
b0 is unknown
s0 is distinct from 'a'
s is not distinct from s0
i0 in (1, 2, 3)
i0 in (1, null)
i0 not in (1, 2)
s0 in ('a', 'b', 'abc')
s in (s0, 'a')
d0 in (1, 2.5, 0)
l in (1, 2147483648)
i in (l, 1)
s0 in (null)
i between 1 and 10
i0 between 1 and l0
l not between -1 and 5
s0 between 'a' and 'b'
d0 between 0 and 2.5
da between DATE '1970-01-01' and DATE '2024-01-01'
s like 'a%'
s like '%b'
s0 like '%b%'
s0 like 'a_b'
s like 'a\\_b'
s like 'a\\%b'
s like '%'
s like ''
s like '_'
s like '%😀%'
s like 'a%b%'
s not like 'a%'
s like 'a\\\\b'
i + 1
i0 + i
i - l0
l * 2
l + l0
i * i0
d + d0
d * 2
d - 1.5
i + 1.5D
i / 2
i / i0
l / d0
d0 / d
d / 0.0
i div i0
l div l0
l div 2
i % i0
l % l0
d % d0
i % 3
mod(l, -1)
pmod(i, i0)
pmod(l, 7)
pmod(-7, i)
-i
-l0
-d
- -i
+i
~i0
i & 7
l | i
i ^ i0
abs(i)
abs(l0)
abs(d)
sign(d0)
sign(i)
signum(l)
floor(d)
floor(i)
ceil(d0)
ceiling(l)
round(i)
round(i, -1)
round(l0, -3)
round(i, 2)
negative(i)
positive(d0)
greatest(i, i0)
greatest(i, l0, 5)
least(d, d0)
greatest(d, d0, 1.0D)
least(s, s0)
least(i0, l0)
isnan(d0)
isnan(d)
cast(i as bigint)
cast(l as int)
cast(d as int)
cast(d0 as bigint)
cast(i as double)
cast(l0 as double)
cast(b0 as int)
cast(b as double)
cast(i as boolean)
cast(d as boolean)
cast(i0 as string)
cast(l as string)
cast(b0 as string)
cast(da as string)
cast(ts0 as string)
cast(lt as string)
cast(s as int)
cast(s0 as bigint)
cast(s as boolean)
cast(ts as bigint)
cast(ts as int)
cast(ts as date)
cast(da0 as timestamp)
cast(i as timestamp)
cast(l as timestamp)
cast(lt0 as timestamp)
cast(ts as timestamp_ntz)
cast(lt as date)
cast(s as binary)
i::string
int(d)
string(i)
date(ts)
bigint(s0)
double(dec)
boolean(s0)
timestamp(da)
binary(s0)
cast(null as int)
case when i > 0 then 'p' when i < 0 then 'n' else 'z' end
case when i0 > 0 then i else l end
case s when 'a' then 1 when 'start' then 2 end
case s0 when 'a' then 'x' else s end
case when b0 then null else 1 end
if(b0, s, s0)
if(i > 0, 1, 2.5D)
coalesce(s0, 'none')
coalesce(i0, l0, 0)
coalesce(s0, e)
coalesce(null, i0)
nvl(i0, 5)
ifnull(d0, 1)
nullif(i, 1)
nullif(s0, '')
nullif(s, s0)
nvl2(i0, s, s0)
equal_null(s, s0)
isnull(s0)
isnotnull(s)
pmod(l, l0)
da > cast('2024-01-01' as date)
ts > timestamp('2024-01-01 10:00:00')
ts > TIMESTAMP '2024-01-01T10:00:00.5Z'
to_date('2024-01-01')
upper(s)
lower(s0)
ucase(s)
lcase(e)
trim(s)
ltrim(s0)
rtrim(s)
trim('a', s)
ltrim('ab', s0)
rtrim('c ', s)
btrim(s)
btrim(s, 'ab')
trim(BOTH 'a' FROM s)
trim(LEADING FROM s)
trim(TRAILING 'c' FROM s0)
trim(s0, s)
length(s)
len(s0)
length(y0)
char_length(s)
character_length(s0)
octet_length(s)
octet_length(y)
bit_length(s0)
concat(s, s0)
concat(s, '-', i)
concat(s, l0, b0, da)
concat(y, y0)
s || '-' || i0
concat(ts, s)
concat(s)
concat_ws('-', s, s0, 'x')
concat_ws(s0, s, s0)
concat_ws(',', xs)
concat_ws(',', xs0, s)
concat_ws(',')
substring(s, 2)
substring(s, 0, 2)
substring(s0, 1, 3)
substring(s, -3, 2)
substring(s, i, 2)
substring(s, 2, -1)
substring(s, 1, i0)
substr(s, 2, 2)
substring(s FROM 2 FOR 2)
substring(s FROM -2)
substring(y, 2, 2)
substring(y0, -2)
left(s, 2)
left(s0, -1)
left(s, i0)
right(s, 2)
right(s0, i)
replace(s, 'a', 'bb')
replace(s, '', 'x')
replace(s0, 'b')
replace(s, s0, 'x')
replace(s, 'aa', 'a')
startswith(s, 'a')
endswith(s0, 'c')
contains(s, 'b')
contains(s, s0)
startswith(s0, '')
instr(s, 'b')
instr(s0, '')
instr(s, s0)
locate('b', s)
locate('b', s, 2)
locate('', s, 3)
locate('b', s0, 0)
position('b', s)
position('b' IN s)
lpad(s, 5, 'xy')
rpad(s0, 5, '😀')
lpad(s, 3)
rpad(s, 0, 'a')
lpad(s, 5, '')
rpad(s, -1, 'x')
reverse(s)
reverse(s0)
reverse(xs)
repeat(s, 2)
repeat(s0, -1)
repeat('a', 3)
split_part(s, ',', 1)
split_part(s0, ',', -1)
split_part(s, ',', 0)
split_part(s, '', 1)
split_part(s, 'b', 2)
split_part(s, s0, 1)
split_part(s, ',', i0)
ascii(s)
ascii(s0)
chr(i)
char(l0)
chr(65)
hex(i)
hex(l0)
hex(s)
hex(y0)
base64(y)
base64(cast(s as binary))
base64(s0)
md5(s)
md5(y0)
sha(s0)
sha1(y)
sha2(s, 256)
sha2(y0, 512)
sha2(s, 0)
sha2(s, 224)
sha2(s0, 384)
crc32(s)
crc32(y0)
s = e
e = 'play'
u
u = '0d2c6a3e-8c1f-4b8e-9b43-3f8f2f1c9a10'
upper(u)
i
st
st.a
st.b
st0.a
st0.b
ST0.A
st0.b + 1
xs[0]
xs0[i0]
xs[1]
ns[0]
ns0[1]
get(xs, 0)
get(ns, i0)
element_at(xs, 1)
element_at(ns0, -1)
element_at(ns, pmod(i, 4) - 1)
m['a']
m0['b']
m[s0]
m.a
m0.b
element_at(m, 'a')
element_at(m0, s0)
size(xs)
size(m0)
cardinality(ns0)
array_contains(xs, 'a')
array_contains(xs0, s0)
array_contains(ns, 1)
array_contains(ns0, i0)
__metadata__.topic
__metadata__.region
__metadata__.partition + 1
__metadata__.offset
__metadata__.kafka_ingestion_ts
__metadata__.kafka_ingestion_ts > ts
year(ts)
year(da0)
month(ts0)
day(da)
dayofmonth(ts)
dayofyear(da)
quarter(da0)
dayofweek(da)
weekday(da0)
hour(ts)
minute(ts0)
second(ts)
hour(lt)
year(lt0)
date_trunc('hour', ts)
date_trunc('DAY', ts0)
date_trunc('week', ts)
date_trunc('month', ts)
date_trunc('quarter', ts)
date_trunc('year', ts)
date_trunc('minute', tm)
date_trunc('second', ts0)
date_trunc('millisecond', ts)
date_trunc('microsecond', ts)
date_trunc('hour', lt)
to_date(ts)
to_date(lt0)
unix_seconds(ts)
unix_millis(ts0)
unix_micros(ts)
unix_seconds(tm)
timestamp_seconds(i)
timestamp_seconds(l)
timestamp_millis(l0)
timestamp_micros(l)
unix_date(da)
date_from_unix_date(i)
datediff(ts, da)
date_diff(da0, da)
datediff(da, DATE '2024-01-01')
date > DATE '2000-01-01'
date = '1970-01-01'
tm
ts0
lt
dec
dec0
f0
y0
d
coalesce(ts0, tm)
coalesce(dec0, dec)
coalesce(st0, st)
coalesce(xs0, xs)
if(b, ns, ns0)
coalesce(y0, y)
greatest(ts, tm)
least(da, da0)
greatest(b, b0)
coalesce(u, s)
if(b0, e, 'x')
if(f0 is null, 'n', 'f')
coalesce(f0, f0)
nullif(ts, tm)
nullif(i, l)
nullif(dec, 1)
case when dec > 1 then dec else dec0 end
1
'x'
true
1.5
-2147483648
2147483648
1e3
2D
5L
-1.50
"a\tb"
r'a\tb'
cast('1' as int)
cast('abc' as int)
null = s
null + 1
coalesce(null, null, 5)
i + 1 > 5 and s || 'a' = 'aa'
-i * 2 + l % 3 - i / 2
not b = b0
not i = 1 and b
i = 1 = b
i = 1 = b is null
i0 between 2 and 5 and b or b0
~i & 3 | 4 ^ 2
i & 3 = 1
i + 1 & 3 * 2 | l - 1
case when i=1 then 1 else 2 end + 1
(s)
((i + 1)) * 2
case i + 1 when 2 then 1 end
case lower(s) when 'a' then 1 when 'start' then 2 end
nullif(lower(s0), 'a')
lower(s0) between 'a' and s
length(s0) in (1, i0, 3)
div(i, 3)
cast(s as double)
cast(s0 as double)
cast(s as date)
to_date(s0)
date(s)
double(s0)
s rlike 'a'
s rlike '^a'
s not rlike 'b$'
s0 rlike '^[a-z]+$'
s rlike '^.*$'
s rlike '^\\s*\\w+\\s*$'
s rlike '(a|b)c?'
s rlike '(?:ab){2,3}'
s rlike '[^a-z]'
s rlike '^\\d+$'
s rlike 'a.b'
s rlike '😀'
s rlike '^.b'
s rlike '\\.'
s rlike ''
s regexp '[0-9]+'
regexp_like(s0, '^\\D')
regexp(s, 'x{3}')
rlike(s, '[\\w.]+$')
hash(s)
hash(s0, i0, l0)
hash(da, ts0, y0)
xxhash64(s)
xxhash64(s0, i0, l0)
xxhash64(y, da0, ts)
xxhash64(repeat(s, 7))
xxhash64(concat(s0, s, s))
pmod(xxhash64(s), 100) < 10
pmod(hash(u), 10)
substring_index(s, ',', 1)
substring_index(s0, ',', -1)
substring_index(s, 'a', 2)
substring_index(s, 'aa', -1)
substring_index(s, 'aba', -2)
substring_index(s, '', 1)
substring_index(s, 'b', i)
translate(s, 'abc', 'xy')
translate(s0, 'aab', '12')
translate(s, '', 'a')
array_size(xs)
array_size(ns0)
map_contains_key(m, 'a')
map_contains_key(m0, s0)
try_element_at(ns, 1)
try_element_at(xs0, -1)
try_element_at(m, 'a')
date_add(da, 5)
date_sub(da0, i % 1000)
dateadd(ts, 1)
date_add(da, i0)
s like 'a%b%c'
s0 like '%a%_b%'
s like 'a#%b' escape '#'
s ilike 'A%'
s0 ilike '%ΣΑ%'
s ilike 'ß'
ilike(s, '%İ%')
s0 not ilike 'a%' escape '!'
s = 1
s0 < l
s > 1.5D
s0 = dec
s0 + 1
l - s0
s * 2.5D
b = s0
da = s0
.5D + d
'a' 'b' "c""d" || s
'\u0041\U00000042\103'
x'4a4B' = y
timestamp_ntz '2024-02-29 10:11:12' < lt
DATE '2024'
i << 3
l0 << i0
shiftleft(i, i0)
shiftright(l, i)
shiftright(i0, 3)
shiftrightunsigned(i, 3)
shiftrightunsigned(l0, i0)
bit_count(i)
bit_count(l0)
bit_count(b)
try_cast(s as int)
try_cast(s0 as bigint)
try_cast(s as date)
try_cast(s0 as boolean)
try_cast(s as double)
try_cast(l0 as int)
try_cast(i as bigint)
try_cast(d as int)
try_cast(i0 as string)
try_cast(s0 + 1 as int)
try_add(i, i0)
try_add(l0, l)
try_add(i, l0)
try_add(d, d0)
try_subtract(i, i0)
try_multiply(l, l0)
try_multiply(i, i)
try_divide(i, i0)
try_divide(d0, d)
try_divide(l, 2)
try_mod(i, i0)
try_mod(l0, l)
try_mod(d, d0)
sqrt(d)
sqrt(i0)
rint(d)
rint(d0)
degrees(d)
radians(d0)
factorial(i)
factorial(i0)
bin(i)
bin(l0)
conv(s, 10, 16)
conv(s0, 16, -10)
conv(s, 36, 2)
conv(l0, 10, i0)
width_bucket(d, 0.5D, 10D, 5)
width_bucket(d0, 10D, d, l0)
bround(i, -1)
bround(l0, -3)
bround(i, 2)
round(i0, -2)
abs(s0)
-s0
nullifzero(i)
nullifzero(d0)
zeroifnull(i0)
zeroifnull(d0)
zeroifnull(l0)
decode(i0, 1, 'one', 2, 'two', 'many')
decode(s0, 'a', 1, 2)
decode(l, 1, s0)
elt(i, s, s0)
elt(i0, 'a', s0, 'c')
space(i % 100)
space(i0 % 10)
overlay(s, 'XY', 2)
overlay(s0, s, i0 % 10, 2)
overlay(s PLACING '_' FROM 2 FOR 0)
overlay(s, '', i)
find_in_set(s, 'a,b,abc,,x')
find_in_set(s0, s)
quote(s)
quote(s0)
is_valid_utf8(s0)
make_valid_utf8(s)
validate_utf8(s0)
try_validate_utf8(s)
luhn_check(s)
luhn_check(s0)
luhn_check(l)
unhex(s)
unhex(s0)
unhex(hex(y0))
encode(s, 'utf-8')
to_binary(s0, 'UTF-8')
url_encode(s)
url_encode(s0)
url_decode(s)
url_decode(url_encode(s0))
trim(s0 FROM s)
rtrim(s0, s)
ltrim(s, s0)
left(s, '2')
upper(i)
length(l0)
concat(s, d is null, i)
contains(i, '1')
startswith(s0, null)
repeat(s, null)
instr(null, s)
concat_ws(',', s, i0, b0)
regexp_replace(s, '[a-c]', '_')
regexp_replace(s0, '([a-z])b', '$1-')
regexp_replace(s, '\\d+', '#')
regexp_replace(s, ' ', '')
regexp_extract(s, '(a)(b)?', 2)
regexp_extract(s0, '([0-9]+)')
regexp_extract(s, '^(\\w+)', 0)
regexp_extract_all(s, '(a|b)')
regexp_extract_all(s0, '[a-z]', 0)
regexp_substr(s, '[0-9]+')
regexp_substr(s0, 'a.')
regexp_count(s, 'a')
regexp_count(s0, '[^a]')
regexp_instr(s, 'b')
regexp_instr(s0, 'a$')
split(s, ',')
split(s0, '[ab]')
split(s, 'b', 2)
split(s, 'a', 1)
split(s, '\\s+', -1)
split(s0, ',')[0]
s rlike '^[^@]+@[^@]+$'
s rlike '.*b.*'
s0 rlike '[a-z]+[0-9]'
s rlike '^(abc|start)$'
array(i, i0)
array(s, 'x')
array(l0, i)[1]
array_position(xs, 'a')
array_position(ns0, i)
array_join(xs, ',')
array_join(xs0, s0, '-')
array_compact(xs)
array_compact(ns0)
array_append(xs, s0)
array_append(ns0, i)
array_prepend(ns, i0)
array_prepend(xs0, 'a')
array_distinct(xs)
array_distinct(ns0)
map_keys(m)
map_keys(m0)
map_values(m)
map_values(m0)
weekofyear(da)
weekofyear(ts0)
dayname(da)
dayname(ts0)
monthname(da0)
monthname(ts)
last_day(da)
last_day(ts0)
next_day(da, 'MON')
next_day(da0, 'friday')
next_day(da, s0)
add_months(da, i % 1000)
add_months(da0, 1)
add_months(ts, -1)
add_months(da, i0)
make_date(i, 2, 28)
make_date(2024, i0, i)
make_date(i % 3000, pmod(i0, 14), pmod(i, 33))
year(s0)
dayofweek(s)
date_add(s0, 1)
date_add(da, s0)
datediff(s0, da)
trunc(da, 'month')
trunc(ts0, 'YEAR')
trunc(da0, 'week')
trunc(da, 'quarter')
date_trunc('week', lt0)
timestampadd(HOUR, i, ts)
timestampadd(MONTH, i % 100, ts0)
timestampadd(YEAR, 1, lt)
timestampadd(DAY, 3, da)
timestampadd(WEEK, l0 % 100, tm)
timestampadd(MICROSECOND, l, ts0)
dateadd(QUARTER, -1, ts)
date_add(MINUTE, 10, lt0)
timestampdiff(HOUR, ts, ts0)
timestampdiff(MONTH, TIMESTAMP '2024-01-31 10:00:00', TIMESTAMP '2024-03-01 09:00:00')
timestampdiff(MONTH, TIMESTAMP '2024-03-01 09:00:00', TIMESTAMP '2024-01-31 10:00:00')
timestampdiff(MONTH, TIMESTAMP '2024-01-31 10:00:00', ts0)
timestampdiff(QUARTER, ts, TIMESTAMP '2024-03-01 09:00:00')
timestampdiff(MONTH, ts, tm)
timestampdiff(QUARTER, lt, lt0)
timestampdiff(YEAR, da, ts0)
timestampdiff(SECOND, tm, ts)
datediff(DAY, ts0, da)
date_diff(WEEK, ts, tm)
extract(YEAR FROM ts)
extract(dow FROM da)
extract(week FROM ts0)
extract(hour FROM lt)
extract(minutes FROM ts0)
date_part('month', da0)
datepart('doy', ts)
date_format(ts, 'yyyy-MM-dd')
date_format(ts0, 'yyyyMMdd HH:mm:ss.SSS')
date_format(da, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
date_format(lt0, 'HH')
from_unixtime(l % 100000000000)
from_unixtime(i0, 'yyyy/MM/dd')
unix_timestamp(ts0)
unix_timestamp(da)
unix_timestamp(s, 'yyyy-MM-dd')
unix_timestamp(s0)
to_unix_timestamp(ts)
to_timestamp(s, 'yyyy-MM-dd')
to_timestamp(substring(s0, 1, 10), 'yyyy-MM-dd')
to_timestamp(concat(date_format(ts, 'yyyyMMdd'), s), 'yyyyMMdd')
to_timestamp(date_format(ts0, 'yyyy-MM-dd HH:mm:ss.SSS'), 'yyyy-MM-dd HH:mm:ss.SSS')
to_timestamp(da)
to_timestamp_ntz(lt0)
cast(da as timestamp_ntz)
to_timestamp_ltz(ts)
to_timestamp_ltz(lt0)
timestamp_seconds(null)
hour(da)
"""
CASES: Final = tuple(_TEXT.strip().split("\n"))
