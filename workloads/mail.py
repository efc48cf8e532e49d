"""A mail server for twelve people: `python3 mail.py conf DIR`, `python3 mail.py day DIR`.

`conf` writes a configuration of Dovecot whose files are all in DIR. `day` is the clients, by LMTP and IMAP on the
loopback: 1,800 messages are delivered; readers list new ones, fetch, file, delete and search them. All draws are seeded.
"""

import imaplib
import os
import pwd
import random
import smtplib
import sys
import time

PEOPLE, ROUNDS, MESSAGES = 12, 30, 60
SYLLABLES = ("ba", "ke", "li", "mo", "nu"), ("r", "st", "nt"), ("a", "en", "ig", "o", "um")
WORDS = [f"{a}{b}{c}" for a in SYLLABLES[0] for b in SYLLABLES[1] for c in SYLLABLES[2]]
folder = sys.argv[2]


def configure():
    for directory in ("run", "state", "mail"):
        os.makedirs(f"{folder}/{directory}", exist_ok=True)
    # Dovecot refuses to deliver as root.
    owner = pwd.getpwnam("mail") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    os.chown(f"{folder}/mail", owner.pw_uid, owner.pw_gid)
    login = "" if os.getuid() == 0 else f"default_login_user = {owner.pw_name}\ndefault_internal_user = {owner.pw_name}\n"
    with open(f"{folder}/dovecot.conf", "w") as file:
        file.write(f"""base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
listen = 127.0.0.1
protocols = imap lmtp
ssl = no
disable_plaintext_auth = no
{login}mail_location = maildir:{folder}/mail/%n
first_valid_uid = 1
first_valid_gid = 1
mail_fsync = optimized
passdb {{
  driver = static
  args = nopassword=y
}}
userdb {{
  driver = static
  args = uid={owner.pw_uid} gid={owner.pw_gid} home={folder}/mail/%n allow_all_users=yes
}}
service imap-login {{
  inet_listener imap {{
    port = 10143
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    port = 10024
  }}
}}
""")


def message(draw, sender, to):
    size = min(int(1500 * draw.paretovariate(1.1)), 400_000)
    body = []
    while size > 0:
        line = " ".join(draw.choices(WORDS, k=10))
        body.append(line)
        size -= len(line)
    head = [f"From: p{sender}@example.org", f"To: p{to}@example.org", f"Subject: {draw.choice(WORDS)}", ""]
    return "\r\n".join(head + body) + "\r\n"


def deliver(draw, server, count):
    for _ in range(count):
        sender, to = draw.randrange(PEOPLE), min(int(draw.paretovariate(0.8)) - 1, PEOPLE - 1)
        server.sendmail(f"p{sender}@example.org", [f"p{to}@example.org"], message(draw, sender, to))


def read(draw, person):
    box = imaplib.IMAP4("127.0.0.1", 10143)
    box.login(f"p{person}", "x")
    box.create("Archive")
    box.select("INBOX")
    new = box.search(None, "UNSEEN")[1][0].split()
    if new:
        box.fetch(b",".join(new), "(FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS (FROM SUBJECT DATE)])")
    for number in new:
        if draw.random() < 0.8:
            box.fetch(number, "(BODY[])")
        fate = draw.random()
        if fate < 0.3:
            box.copy(number, "Archive")
        if fate < 0.6:
            box.store(number, "+FLAGS", "(\\Deleted)")
    box.expunge()
    every = box.search(None, "ALL")[1][0].split()
    for number in draw.sample(every, min(3, len(every))):
        box.fetch(number, "(BODY[])")
    if draw.random() < 0.2:
        box.select("Archive")
        box.search(None, "BODY", draw.choice(WORDS))
    box.logout()


def day():
    draw = random.Random(1)
    for _ in range(100):
        try:
            server = smtplib.LMTP("127.0.0.1", 10024)
            break
        except OSError:
            time.sleep(0.1)
    else:
        sys.exit("the server does not answer on port 10024")
    for _ in range(ROUNDS):
        deliver(draw, server, MESSAGES)
        for person in draw.sample(range(PEOPLE), PEOPLE // 2):
            read(draw, person)
    server.quit()


configure() if sys.argv[1] == "conf" else day()
