"""What callers say, as data: the sentence patterns of every intent, with {slots} from `domain.SLOTS`.

An intent that ends in a tool call bears the tool's name; the others say what kind of talk it is. Patterns that
leave a slot of their tool out are meant: the assistant then asks for it. `{kind=table}` says no words, it sets a
slot.
"""

REQUESTS: dict[str, list[str]] = {
    "get_time": [
        "What time is it?", "What's the time?", "Tell me the time.", "Do you have the time?",
        "Can you tell me the time?", "What time is it now?", "What time is it right now?",
        "What time is it in {city}?", "What's the time in {city}?", "What is the time in {city}?",
        "Tell me the time in {city}.", "Can you tell me the time in {city}?",
        "What time is it now in {city}?", "Do you know what time it is in {city}?",
        "How late is it in {city}?", "I need the time in {city}.", "What is the current time in {city}?",
        "The time in {city}.", "Time in {city}?", "Give me the time in {city}.",
    ],
    "get_date": [
        "What's the date?", "What day is it?", "What's today's date?", "What is the date today?",
        "Which day is it today?", "What day is it today?", "Tell me the date.", "Can you tell me the date?",
        "What is today's date?", "Do you know what day it is?",
    ],
    "get_weather": [
        "What's the weather?", "What's the weather like?", "How is the weather?", "Tell me the weather.",
        "What's the weather in {city}?", "What is the weather in {city}?",
        "What's the weather like in {city}?", "How is the weather in {city}?",
        "How's the weather in {city}?", "Tell me the weather in {city}.",
        "What's the temperature in {city}?", "Is it sunny in {city}?", "Is it raining in {city}?",
        "How cold is it in {city}?", "How warm is it in {city}?", "The weather in {city}.",
        "Weather in {city}?", "What's the weather in {city} {on_day}?",
        "What's the weather like in {city} {on_day}?", "How is the weather in {city} {on_day}?",
        "How will the weather be in {city} {on_day}?", "Will it rain in {city} {on_day}?",
        "Is it going to rain in {city} {on_day}?", "Will it snow in {city} {on_day}?",
        "Do I need an umbrella in {city} {on_day}?", "What's the forecast for {city} {on_day}?",
        "Tell me the weather {on_day} in {city}.", "What will the weather be {on_day} in {city}?",
        "Will it be sunny in {city} {on_day}?", "The weather in {city} {on_day}.",
        "What's the forecast for {city}?", "What's the weather {on_day}?", "Will it rain {on_day}?",
        "How is the weather {on_day}?", "What's the forecast {on_day}?", "Do I need an umbrella {on_day}?",
    ],
    "book_table": [
        "Book a table.", "I'd like to book a table.", "Can I book a table?", "I need a table.",
        "I want to make a reservation.", "I'd like to reserve a table.", "Can you book me a table?",
        "Book a table for {people}.", "I'd like a table for {people}.", "Can I book a table for {people}?",
        "I need a table for {people} people.", "Reserve a table for {people} people.",
        "Book a table {on_day}.", "Book a table {on_day} at {time}.", "I need a table {on_day}.",
        "I want to make a reservation {on_day} at {time}.", "Book a table at {time}.",
        "Book a table for {people} {on_day}.", "Book a table for {people} at {time}.",
        "Do you have a table for {people} {on_day}?", "Can I get a table for {people} people at {time}?",
        "Book a table for {people} {on_day} at {time}.",
        "Book a table for {people} people {on_day} at {time}.",
        "I'd like to book a table for {people} {on_day} at {time}.",
        "I would like a table for {people} people {on_day} at {time}.",
        "Can I reserve a table for {people} {on_day} at {time}?",
        "Can you book a table for {people} people at {time} {on_day}?",
        "I need a table {on_day} at {time} for {people} people.",
        "Reserve a table for {people} {on_day} at {time}.",
        "I want to make a reservation for {people} {on_day} at {time}.",
        "A table for {people} {on_day} at {time}.", "Table for {people} people at {time} {on_day}.",
        "Could you reserve a table for {people} people at {time} {on_day}?",
        "Do you have a table for {people} {on_day} at {time}?",
        "Please book a table for {people} {on_day} at {time}.",
        "We are {people} people, {on_day} at {time}.",
        "Book a table for {people} {on_day} at {time} under the name {name}.",
        "Book a table for {people} people {on_day} at {time} for {name}.",
        "I'd like a table for {people} {on_day} at {time}. My name is {name}.",
        "Can I reserve a table for {people} at {time} {on_day}? The name is {name}.",
        "This is {name}. I need a table for {people} people {on_day} at {time}.",
        "A table for {people} {on_day} at {time}, name {name}.",
    ],
    "book_appointment": [
        "I need an appointment.", "I'd like to make an appointment.", "Can I book an appointment?",
        "Book an appointment.", "I want to book an appointment.", "Make an appointment {on_day} at {time}.",
        "I need an appointment {on_day}.", "Can I book an appointment {on_day} at {time}?",
        "Book a {service} appointment.", "I need a {service} appointment.", "Book a {service} {on_day}.",
        "I'd like a {service} appointment {on_day}.", "Can I get a {service} at {time}?",
        "Book a {service}.", "Book a {service} {on_day} at {time}.",
        "I need a {service} appointment {on_day} at {time}.",
        "I'd like to book a {service} {on_day} at {time}.", "Can I book a {service} {on_day} at {time}?",
        "Schedule a {service} {on_day} at {time}.", "I want a {service} appointment {on_day} at {time}.",
        "Make a {service} appointment {on_day} at {time}.",
        "Book an appointment for a {service} {on_day} at {time}.",
        "I would like an appointment for a {service} at {time} {on_day}.",
        "Can you schedule a {service} appointment at {time} {on_day}?", "A {service} {on_day} at {time}.",
        "Please book a {service} appointment {on_day} at {time}.",
        "Do you have time for a {service} {on_day} at {time}?",
        "Book a {service} {on_day} at {time} under the name {name}.",
        "I need a {service} appointment {on_day} at {time} for {name}.",
        "Can I book a {service} {on_day} at {time}? My name is {name}.",
        "This is {name}. I'd like a {service} {on_day} at {time}.",
        "Schedule a {service} for {name} {on_day} at {time}.",
    ],
    "change_booking": [
        "{kind=table}Change my reservation.", "{kind=appointment}Change my appointment.",
        "Change my booking.", "{kind=table}Change my table to {time}.",
        "{kind=table}Move my reservation to {time}.", "{kind=table}Move my reservation to {day}.",
        "{kind=table}Change my reservation to {day} at {time}.",
        "{kind=table}Can you move my table to {day} at {time}?",
        "{kind=table}Change my table to {people} people.",
        "{kind=table}Change my reservation to {people} people.",
        "{kind=table}I'd like to move my table to {day}.",
        "{kind=table}Please change my reservation to {people} people {on_day} at {time}.",
        "{kind=table}I want to change my reservation to {time}.",
        "{kind=table}Move the table to {day} at {time}.",
        "{kind=appointment}Move my appointment to {time}.",
        "{kind=appointment}Move my appointment to {day}.",
        "{kind=appointment}Change my appointment to {day} at {time}.",
        "{kind=appointment}Can you move my appointment to {day} at {time}?",
        "{kind=appointment}I'd like to change my appointment to {time}.",
        "{kind=appointment}Can I move my appointment to {day}?",
        "{kind=appointment}Reschedule my appointment to {day}.",
        "{kind=appointment}Please move the appointment to {day} at {time}.", "Change my booking to {time}.",
        "Change my booking to {day}.", "Change my booking to {day} at {time}.",
        "Move my booking to {day} at {time}.", "Can you move my booking to {time}?",
        "I need to change my booking to {day}.",
    ],
    "cancel_booking": [
        "{kind=table}Cancel my reservation.", "{kind=table}Cancel my table.",
        "{kind=table}Cancel the table.", "{kind=table}I want to cancel my reservation.",
        "{kind=table}Please cancel my table.", "{kind=table}Can you cancel my reservation?",
        "{kind=table}I need to cancel my table.", "{kind=appointment}Cancel my appointment.",
        "{kind=appointment}Cancel the appointment.", "{kind=appointment}I want to cancel my appointment.",
        "{kind=appointment}Please cancel my appointment.",
        "{kind=appointment}Can you cancel my appointment?",
        "{kind=appointment}I'd like to cancel my appointment.",
        "{kind=appointment}I can't come to my appointment.", "{kind=table}We don't need the table.",
        "Cancel my booking.", "Please cancel my booking.", "I want to cancel my booking.",
        "Cancel the booking.", "Can you cancel my booking?",
    ],
    "order_status": [
        "Where is my order?", "What's the status of my order?", "Check my order.",
        "I want to check my order.", "Can you check my order?", "Has my order been shipped?",
        "When will my order arrive?", "Where is order {order_number}?",
        "Where is order number {order_number}?", "Where is my order {order_number}?",
        "What's the status of order {order_number}?", "Check order {order_number}.",
        "Check order number {order_number}.", "Can you check order {order_number}?",
        "My order number is {order_number}.", "Track order {order_number}.",
        "When will order {order_number} arrive?", "Has order {order_number} been shipped?",
        "Order {order_number}.", "Order number {order_number}.", "I'm calling about order {order_number}.",
        "I'm waiting for order number {order_number}.", "What happened to order {order_number}?",
        "Where is my order? The number is {order_number}.", "Please check order {order_number} for me.",
        "I'd like to know the status of order {order_number}.",
    ],
    "calculate": [
        "What is {a} plus {b}?", "What's {a} plus {b}?", "How much is {a} plus {b}?", "{a} plus {b}.",
        "Calculate {a} plus {b}.", "What is {a} minus {b}?", "What's {a} minus {b}?",
        "How much is {a} minus {b}?", "{a} minus {b}.", "Calculate {a} minus {b}.",
        "What is {a} times {b}?", "What's {a} times {b}?", "How much is {a} times {b}?", "{a} times {b}.",
        "Calculate {a} times {b}.", "What is {a} divided by {b}?", "What's {a} divided by {b}?",
        "How much is {a} divided by {b}?", "{a} divided by {b}.", "Calculate {a} divided by {b}.",
    ],
    "set_timer": [
        "Set a timer.", "Start a timer.", "I need a timer.", "Set a timer for {minutes} minutes.",
        "Set the timer to {minutes} minutes.", "Start a timer for {minutes} minutes.",
        "Start a {minutes} minute timer.", "Set a {minutes} minute timer.", "Timer for {minutes} minutes.",
        "Can you set a timer for {minutes} minutes?", "I need a timer for {minutes} minutes.",
        "{minutes} minutes timer.", "Wake me in {minutes} minutes.",
        "Tell me when {minutes} minutes are over.",
    ],
    "cancel_timer": [
        "Cancel the timer.", "Stop the timer.", "Cancel my timer.", "Turn off the timer.",
        "Delete the timer.", "Can you cancel the timer?", "I don't need the timer.", "End the timer.",
    ],
}  # fmt: skip

ANSWERS: dict[str, list[str]] = {
    "people": [
        "{people}.", "{people} people.", "For {people}.", "For {people} people.", "We are {people}.",
        "There are {people} of us.", "A table for {people}.",
    ],
    "day": [
        "{day}.", "{on_day}.", "For {day}.", "{on_day}, please.",
    ],
    "time": [
        "{time}.", "At {time}.", "At {time}, please.", "Around {time}.",
    ],
    "day time": [
        "{on_day} at {time}.", "{day} at {time}.", "At {time} {on_day}.", "{day}, {time}.",
        "For {day} at {time}.",
    ],
    "people day": [
        "For {people} {on_day}.", "{people} people, {on_day}.", "{people} people {on_day}.",
    ],
    "people time": [
        "For {people} at {time}.", "{people} people at {time}.", "At {time} for {people}.",
    ],
    "people day time": [
        "For {people} {on_day} at {time}.", "{people} people, {on_day} at {time}.",
        "{on_day} at {time} for {people} people.", "We are {people}, {on_day} at {time}.",
    ],
    "service": [
        "A {service}.", "{service}.", "I need a {service}.", "For a {service}.",
    ],
    "service day": [
        "A {service} {on_day}.", "A {service}, {on_day}.",
    ],
    "service time": [
        "A {service} at {time}.",
    ],
    "service day time": [
        "A {service} {on_day} at {time}.", "A {service}, {on_day} at {time}.",
        "{service}, {on_day} at {time}.",
    ],
    "order_number": [
        "{order_number}.", "It's {order_number}.", "It is {order_number}.", "The number is {order_number}.",
        "My order number is {order_number}.", "Number {order_number}.",
    ],
    "minutes": [
        "{minutes} minutes.", "For {minutes} minutes.", "{minutes}.", "{minutes} minutes, please.",
    ],
    "city": [
        "{city}.", "In {city}.", "For {city}.", "In {city}, please.",
    ],
    "city day": [
        "In {city} {on_day}.", "{city} {on_day}.", "{city}, {on_day}.",
    ],
    "name": [
        "{name}.", "The name is {name}.", "My name is {name}.", "It's {name}.", "Under {name}.",
        "Under the name {name}.", "For {name}.",
    ],
}  # fmt: skip

FOLLOW_UPS: dict[str, list[str]] = {
    "city": [
        "And in {city}?", "What about {city}?", "And {city}?", "How about {city}?",
        "And what about {city}?", "And for {city}?", "What about in {city}?",
    ],
    "day": [
        "And {on_day}?", "What about {day}?", "And for {day}?", "How about {day}?", "And what about {day}?",
    ],
    "city day": [
        "And in {city} {on_day}?", "What about {city} {on_day}?", "How about {city} {on_day}?",
    ],
    "order_number": [
        "And order {order_number}?", "What about order {order_number}?", "And order number {order_number}?",
        "And {order_number}?", "What about {order_number}?",
    ],
}  # fmt: skip

CORRECTIONS: dict[str, list[str]] = {
    "city": [
        "No, I meant {city}.", "I meant {city}.", "Sorry, {city}.", "No, {city}.", "Not that, {city}.",
        "Actually, {city}.", "I said {city}.", "No, in {city}.", "Sorry, I meant {city}.", "I mean {city}.",
    ],
    "day": [
        "No, I meant {day}.", "Actually make it {day}.", "Actually, {day}.", "No, {on_day}.",
        "Sorry, {on_day}.", "Make it {day}.", "Can we make it {day}?", "I meant {day}.", "I said {day}.",
    ],
    "time": [
        "No, I meant {time}.", "Actually make it {time}.", "Actually, at {time}.", "No, at {time}.",
        "Make it {time}.", "Can we make it {time}?", "Sorry, at {time}.", "I meant {time}.",
        "I said {time}.",
    ],
    "people": [
        "Actually make it {people} people.", "No, {people} people.", "Make it {people}.",
        "Actually, {people} people.", "Sorry, for {people} people.", "I meant {people} people.",
        "Make it {people} people.", "Actually we are {people}.", "No, for {people}.",
    ],
    "day time": [
        "Actually make it {day} at {time}.", "No, {on_day} at {time}.", "I meant {day} at {time}.",
        "Make it {day} at {time}.", "Sorry, {on_day} at {time}.",
    ],
    "order_number": [
        "No, {order_number}.", "No, I meant {order_number}.", "Sorry, the number is {order_number}.",
        "I said {order_number}.", "Sorry, {order_number}.", "I meant order {order_number}.",
    ],
    "minutes": [
        "No, {minutes} minutes.", "Actually make it {minutes} minutes.", "Make it {minutes} minutes.",
        "I meant {minutes} minutes.", "Sorry, {minutes} minutes.", "I said {minutes} minutes.",
    ],
    "service": [
        "No, a {service}.", "I meant a {service}.", "Actually make it a {service}.", "Sorry, a {service}.",
    ],
}  # fmt: skip

TALK: dict[str, list[str]] = {
    "greeting": [
        "Hello.", "Hello there.", "Hi.", "Hi there.", "Hey.", "Good morning.", "Good evening.",
        "Good afternoon.", "Hello, anyone there?", "Hello, can you hear me?", "Can you hear me?",
    ],
    "how_are_you": [
        "How are you?", "How are you today?", "Hi, how are you?", "How is it going?", "How are you doing?",
        "Hello, how are you?",
    ],
    "thanks": [
        "Thank you.", "Thanks.", "Thanks a lot.", "Thank you very much.", "Thank you so much.",
        "Great, thank you.", "Okay, thanks.", "Perfect, thank you.", "That's great, thanks.",
    ],
    "goodbye": [
        "Goodbye.", "Bye.", "Bye bye.", "See you.", "That's all.", "That's all for now.", "Good night.",
        "That's all, thank you.", "See you later.", "Have a nice day.", "That's it, bye.",
    ],
    "yes": [
        "Yes.", "Yes, please.", "Yeah.", "Sure.", "Right.", "Correct.", "That's right.", "That is correct.",
        "Yes, that's right.", "Of course.",
    ],
    "okay": [
        "Okay.", "All right.", "Fine.", "Great.", "Perfect.", "Good.", "I see.", "That's good.",
    ],
    "no": [
        "No.", "No, thanks.", "No, thank you.", "Nope.", "Not now.", "No, that's all.", "Nothing else.",
        "That's wrong.", "No, that's wrong.",
    ],
    "stop": [
        "Stop.", "Stop it.", "Stop talking.", "Be quiet.", "Stop, please.", "Please stop.", "Enough.",
        "Quiet, please.", "That's enough.",
    ],
    "wait": [
        "Wait.", "Wait a minute.", "Hold on.", "One moment.", "Wait, please.", "Just a moment.",
        "Hold on, please.", "Wait a second.", "Give me a moment.", "Hang on.",
    ],
    "never_mind": [
        "Never mind.", "Forget it.", "Forget about it.", "Never mind, thanks.", "It's not important.",
        "Leave it.", "Oh, never mind.",
    ],
    "repeat": [
        "Say that again.", "Can you repeat that?", "Repeat that, please.", "Sorry, what?",
        "What did you say?", "Could you say that again?", "Please repeat.", "I didn't hear you.", "Pardon?",
        "Once more, please.", "Can you say that again, please?", "Sorry, I didn't get that.",
    ],
    "what_can_you_do": [
        "What can you do?", "How can you help me?", "Can you help me?", "I need help.", "Help.",
        "Help me, please.", "What can I ask you?", "What do you know?", "What are you able to do?",
        "What can I say?",
    ],
    "who_are_you": [
        "Who are you?", "What's your name?", "What is your name?", "Are you a robot?", "Are you human?",
        "Are you a real person?", "Who am I talking to?", "Do you have a name?",
    ],
    "joke": [
        "Tell me a joke.", "Do you know a joke?", "Make me laugh.", "Can you tell me a joke?",
        "Another joke, please.", "Say something funny.",
    ],
    "compliment": [
        "You are great.", "Well done.", "Good job.", "You are very helpful.", "I like you.",
        "Nice to meet you.", "You are funny.",
    ],
}  # fmt: skip

OUT_OF_DOMAIN: list[str] = [
    "Find a flight from {city} to {city}.", "I want to fly to {city}.", "When is the next train to {city}?",
    "How far is it from {city} to {city}?", "Book a hotel in {city} for {people} nights.",
    "How do I get to {city}?", "What's the capital of France?", "Where is {city}?", "I live in {city}.",
    "I was born in {city}.", "Book a flight to {city} {on_day}.", "I need a taxi to {city}.",
    "How many people live in {city}?", "What's the best museum in {city}?", "Turn on the {device}.",
    "Turn off the {device}.", "Turn off the {device} in the {room}.", "Turn on the {device} in the {room}.",
    "Turn up the {device}.", "Set the {room} to {number} degrees.", "Dim the lights to {number} percent.",
    "Open the {device}.", "Close the {room} door.", "Clean the {room}.", "Lock the door.",
    "Set an alarm for {time}.", "Wake me up at {time}.", "Play some music.", "Play the next song.",
    "Pause the music.", "Play a song about {topic}.", "Louder.", "Sing a song.", "Call {name}.",
    "Send a message to {name}.", "Tell {name} I'll be late.", "Send an email to {name}.",
    "Read my messages.", "What's on my calendar {on_day}?",
    "Schedule a meeting with {name} {on_day} at {time}.", "Remind me to call {name} at {time}.",
    "Remind me to buy {item}.", "Add {item} to my shopping list.", "Do I have any meetings {on_day}?",
    "Who is {name}?", "How much is the {item}?", "My {item} is broken.", "I want to buy a {item}.",
    "Do you have a {item}?", "I ordered a {item}.", "I'd like to order a {item}.",
    "I want two {item} and a {item}.", "I'll take the {item}.", "Where can I buy a {item}?",
    "I want to return the {item}.", "The {item} is too expensive.", "I lost my {item}.",
    "My {item} is in the {room}.", "Are you open {on_day}?", "What are your opening hours?",
    "When do you close?", "Where are you located?", "Can I pay by card?", "How much does it cost?",
    "I want to speak to a human.", "Talk to an agent.", "Let me talk to a person.",
    "Tell me about {topic}.", "What do you think about {topic}?", "I like {topic}.", "Do you like {topic}?",
    "Explain {topic} to me.", "I hate {topic}.", "Who invented {topic}?", "Let's talk about {topic}.",
    "Write a poem about {topic}.", "I am reading about {topic}.", "Translate this to French.",
    "What's the meaning of life?", "Who won the game?", "Who is the president?", "Tell me a story.",
    "What's the news?", "What should I cook?", "My dog is sleeping.", "I am tired.", "I'm hungry.",
    "I have a headache.", "The sky is blue.", "She went home early.", "They are playing in the {room}.",
    "My brother works in {city}.", "{name} and {name} are friends.", "{name} lives in {city}.",
    "We went to {city} last year.", "It was a long day.", "The train was late again.",
    "He never told me about it.", "I don't know what to do.", "Can you drive a car?",
    "Speak slower, please.", "Speak louder.", "Do you speak German?", "How old are you?",
    "Where do you live?", "I love you.", "I bought a {item} in {city}.",
    "The {device} in the {room} is too loud.", "My phone number is {order_number}.",
    "How tall is the tower in {city}?", "What's the price of {item}?",
    "Transfer {number} dollars to {name}.", "How many minutes are in {number} hours?",
    "What is the square root of {number}?", "Convert {number} miles to kilometers.",
]  # fmt: skip

PREFIXES = ["Okay,", "Um,", "Please,", "Well,", "So,", "And", "Hello,", "Hi,", "Hey,", "Now", "Alright,", "Uh,"]
SUFFIXES = ["please", "thanks", "thank you"]
